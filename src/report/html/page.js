"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const items = [...document.querySelectorAll(".item")];
  const applications = [...document.querySelectorAll(".application")];
  const texts = new Map(items.concat(applications).map((element) => [element, element.textContent.toLowerCase()]));
  const form = document.querySelector(".tools");
  form.hidden = false;

  const filter = () => {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const severity = byId("severity").value;
    const application = byId("application").value;
    const action = byId("action").value;
    const active = words.length > 0 || severity || application || action;
    const fits = (element) =>
      words.every((word) => texts.get(element).includes(word)) &&
      (!application || element.dataset.app === application);
    let shown = 0;
    for (const item of items) {
      const change = item.classList.contains("change");
      const kind = change ? !severity && (!action || item.dataset.action === action) : !action && (!severity || item.dataset.severity === severity);
      item.hidden = !(kind && fits(item));
      shown += item.hidden ? 0 : 1;
    }
    for (const element of applications) {
      const inside = items.some((item) => !item.hidden && element.contains(item));
      element.hidden = Boolean(active) && !inside && !(fits(element) && !severity && !action);
      if (active && inside && (action || words.length > 0)) element.open = true;
    }
    byId("found").textContent = active ? `${shown} of ${items.length} findings and changes` : "";
  };

  for (const id of ["search", "severity", "application", "action"]) byId(id).addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  const fold = (open) => document.querySelectorAll("main details").forEach((element) => { element.open = open; });
  byId("open").addEventListener("click", () => fold(true));
  byId("close").addEventListener("click", () => fold(false));
  window.addEventListener("beforeprint", () => fold(true));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
      event.preventDefault();
      byId("search").focus();
    }
  });

  const theme = byId("theme");
  const dark = () => document.documentElement.dataset.theme === "dark" ||
    (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const show = () => { theme.setAttribute("aria-pressed", String(dark())); };
  theme.addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; show(); });
  show();
})();
