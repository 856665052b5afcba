import type { ComponentChildren } from "preact";
import { Button } from "../parts/button.tsx";
import { plainChoices } from "../parts/choose.tsx";
import { Field, fieldOf, SelectField, type State, TextField } from "../parts/field.tsx";
import type { PageRoute, Question, QuestionField } from "../playground/routes.ts";

/** The form as typed. Fields that a route does not use are kept for the next one. */
export interface PlaygroundForm extends Omit<Question, "model" | "maxTokens"> {
  readonly maxTokens: string;
}

export const firstForm: PlaygroundForm = {
  system: "",
  text: "Say hello in three languages.",
  suffix: "",
  documents:
    "Bonjour is French for hello.\nA sluice is a gate that holds back water.\nHola is Spanish for hello.",
  size: "",
  voice: "alloy",
  file: null,
  maxTokens: "256",
  stream: true,
};

const sizes = [
  { value: "", text: "model default" },
  ...plainChoices(["1024x1024", "1536x1024", "1024x1536"]),
];

interface QuestionFieldsProps {
  readonly route: PageRoute;
  readonly form: PlaygroundForm;
  readonly onForm: (form: PlaygroundForm) => void;
}

export function QuestionFields({ route, form, onForm }: QuestionFieldsProps) {
  const field = <Name extends keyof PlaygroundForm>(name: Name) => fieldOf(form, onForm, name);
  const long = (label: string, rows: number, name: "text" | "documents" | "suffix") => (
    <LongField label={label} rows={rows} state={field(name)} />
  );
  const [, setFile] = field("file");
  const [isStream, setStream] = field("stream");
  const fields: Readonly<Record<QuestionField, ComponentChildren>> = {
    system: <TextField label="System" state={field("system")} placeholder="none" />,
    text: long(route.textLabel ?? "Message", 5, "text"),
    suffix: long("Text after the gap", 3, "suffix"),
    documents: long("Documents, one per line", 5, "documents"),
    size: <SelectField label="Size" state={field("size")} choices={sizes} />,
    voice: <TextField label="Voice" state={field("voice")} required />,
    file: (
      <Field label="File">
        {(id) => (
          <input
            id={id}
            type="file"
            required
            onChange={(event) => setFile(event.currentTarget.files?.[0] ?? null)}
          />
        )}
      </Field>
    ),
    maxTokens: (
      <div class="pair">
        <TextField label="Max tokens" state={field("maxTokens")} inputMode="numeric" />
        <label class="tick line">
          <input
            type="checkbox"
            checked={isStream}
            onChange={(event) => setStream(event.currentTarget.checked)}
          />
          Stream
        </label>
      </div>
    ),
  };
  return <>{route.fields.map((name) => fields[name])}</>;
}

/** A recorded request, which can be edited and sent instead of the form. */
export function RecordedFields({ state }: { state: State }) {
  return (
    <>
      <LongField label="Request body" rows={14} state={state} />
      <small class="muted">
        The model above replaces the recorded one. Images and files were not recorded and cannot be sent
        again.
      </small>
      <Button onClick={() => state[1]("")}>Use the form</Button>
    </>
  );
}

function LongField({ label, rows, state: [value, onValue] }: { label: string; rows: number; state: State }) {
  return (
    <Field label={label}>
      {(id) => (
        <textarea
          id={id}
          rows={rows}
          value={value}
          required
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
