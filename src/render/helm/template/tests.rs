use super::*;

const TEXT: &str = "{{- $claim := .Values.persistence }}
{{- if and $claim.enabled (not .Values.persistence.existingClaim) }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include \"web.name\" . }}
spec:
  {{- if not .Values.autoscaling.enabled }}
  replicas: {{ .Values.replicaCount }}
  {{- end }}
  template:
    spec:
      containers:
      - name: main
        image: \"{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}\"
        {{- with .Values.resources }}
        resources:
          {{- toYaml . | nindent 10 }}
        {{- end }}
      - name: side
        env:
        {{- range $name, $value := .Values.env }}
        - name: {{ $name }}
          value: {{ $.Values.other }}
        {{- end }}
{{- else }}
kind: None
{{- end }}
{{- define \"web.name\" }}{{ .Values.nameOverride }}{{ template \"web.more\" $ }}{{ end }}
{{- define \"web.more\" }}{{ if .Values.more }}x{{ end }}{{ template \"web.name\" . }}{{ end }}
";

fn paths(found: &BTreeSet<ValuePath>) -> Vec<String> {
    found.iter().map(|path| path.join(".")).collect()
}

fn field(pointer: &str) -> Option<Reads> {
    let template = Template::read(TEXT);
    let tokens: Vec<String> = pointer.split('/').skip(1).map(str::to_owned).collect();
    template.of_field(&(0..TEXT.len()), &tokens, &Helpers::of(std::iter::once(&template)))
}

#[test]
fn an_object_depends_on_what_is_around_it_and_on_what_names_it() {
    let template = Template::read(TEXT);
    let helpers = Helpers::of(std::iter::once(&template));
    let reads = template.of_object(TEXT.find("apiVersion").unwrap(), &(0..TEXT.len()), &helpers);
    assert_eq!(paths(&reads.all), ["more", "nameOverride", "persistence.enabled", "persistence.existingClaim"]);
    let other = template.of_object(TEXT.find("kind: None").unwrap(), &(0..0), &helpers);
    assert_eq!(paths(&other.all), ["persistence.enabled", "persistence.existingClaim"], "a branch depends on those before it");
}

#[test]
fn a_field_is_the_value_that_stands_there_and_depends_on_what_is_around_it() {
    let replicas = field("/spec/replicas").unwrap();
    assert_eq!(replicas.own, Some(vec!["replicaCount".to_owned()]));
    assert_eq!(&TEXT[replicas.field.unwrap()], "replicas: {{ .Values.replicaCount }}");
    assert_eq!(paths(&replicas.all), ["autoscaling.enabled", "persistence.enabled", "persistence.existingClaim", "replicaCount"]);
}

#[test]
fn a_field_that_is_put_together_is_no_value_by_itself() {
    let image = field("/spec/template/spec/containers/0/image").unwrap();
    assert_eq!(image.own, None);
    assert!(paths(&image.all).contains(&"image.tag".to_owned()));
}

#[test]
fn a_field_inside_a_value_that_is_put_in_whole_is_a_part_of_that_value() {
    let cpu = field("/spec/template/spec/containers/0/resources/limits/cpu").unwrap();
    assert_eq!(cpu.own, Some(["resources", "limits", "cpu"].map(str::to_owned).to_vec()));
    assert_eq!(cpu.field, None, "the template does not show the field itself");
}

#[test]
fn a_loop_reads_the_whole_of_what_it_goes_through() {
    let name = field("/spec/template/spec/containers/1/env/0/value").unwrap();
    assert_eq!(name.own, Some(vec!["other".to_owned()]));
    assert!(paths(&name.all).contains(&"env".to_owned()));
    assert_eq!(paths(&name.loops), ["env"]);
}

#[test]
fn a_field_that_the_template_does_not_have_is_not_found() {
    assert_eq!(field("/spec/paused"), None);
    assert_eq!(field("/data/x"), None);
}

#[test]
fn keys_of_any_spelling_are_followed() {
    let text = "a: {{ index .Values \"my-db\" \"on\" }}\nb: {{ get .Values.x \"y\" \"z\" }}\n";
    let template = Template::read(text);
    let own = |name: &str| template.of_field(&(0..text.len()), &[name.to_owned()], &Helpers::default()).unwrap().own.unwrap().join(".");
    assert_eq!(own("a"), "my-db.on");
    assert_eq!(own("b"), "x.y");
}
