import type { ComponentChildren } from "preact";
import { plainChoices } from "../parts/choose.tsx";
import { Field, SelectField, TextField } from "../parts/field.tsx";
import type { PageRoute, Question, QuestionField } from "../playground/routes.ts";

/** A question as it is typed; what a route does not ask for stays for the next one. */
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
  { value: "", text: "as the model likes" },
  ...plainChoices(["1024x1024", "1536x1024", "1024x1536"]),
];

interface QuestionFieldsProps {
  readonly route: PageRoute;
  readonly form: PlaygroundForm;
  readonly onForm: (form: PlaygroundForm) => void;
}

/** The fields that a route asks for. */
export function QuestionFields({ route, form, onForm }: QuestionFieldsProps) {
  const set = (changes: Partial<PlaygroundForm>) => onForm({ ...form, ...changes });
  const long = (label: string, rows: number, name: "text" | "documents" | "suffix") => (
    <LongField label={label} rows={rows} value={form[name]} onValue={(value) => set({ [name]: value })} />
  );
  const fields: Readonly<Record<QuestionField, ComponentChildren>> = {
    system: (
      <TextField
        label="System"
        value={form.system}
        onValue={(system) => set({ system })}
        placeholder="none"
      />
    ),
    text: long(route.textLabel ?? "Message", 5, "text"),
    suffix: long("What follows it", 3, "suffix"),
    documents: long("Documents, one a line", 5, "documents"),
    size: <SelectField label="Size" value={form.size} choices={sizes} onValue={(size) => set({ size })} />,
    voice: <TextField label="Voice" value={form.voice} onValue={(voice) => set({ voice })} required />,
    file: (
      <Field label="File">
        {(id) => (
          <input
            id={id}
            type="file"
            required
            onChange={(event) => set({ file: event.currentTarget.files?.[0] ?? null })}
          />
        )}
      </Field>
    ),
    maxTokens: (
      <TextField
        label="Most tokens"
        value={form.maxTokens}
        onValue={(maxTokens) => set({ maxTokens })}
        inputMode="numeric"
      />
    ),
    stream: (
      <label class="tick">
        <input
          type="checkbox"
          checked={form.stream}
          onChange={(event) => set({ stream: event.currentTarget.checked })}
        />
        Stream
      </label>
    ),
  };
  const [last, ...before] = route.fields.toReversed();
  if (last !== "stream") return <>{route.fields.map((name) => fields[name])}</>;
  const [limit = "maxTokens", ...others] = before;
  return (
    <>
      {others.toReversed().map((name) => fields[name])}
      <div class="pair">
        {fields[limit]}
        {fields.stream}
      </div>
    </>
  );
}

interface LongFieldProps {
  readonly label: string;
  readonly rows: number;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

function LongField({ label, rows, value, onValue }: LongFieldProps) {
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
