import type { ComponentChildren } from "preact";
import { Button } from "../parts/button.tsx";
import { plainChoices } from "../parts/choose.tsx";
import { Field, fieldOf, SelectField, type State, TextField } from "../parts/field.tsx";
import { notify } from "../parts/notices.tsx";
import type { PageRoute, Question, QuestionField } from "../playground/routes.ts";
import type { AttachedImage } from "../playground/turns.ts";

/** The form as typed. Fields that a route does not use are kept for the next one. */
export interface PlaygroundForm extends Omit<Question, "model" | "maxTokens" | "tools" | "turns"> {
  readonly maxTokens: string;
  /** JSON. */
  readonly tools: string;
  readonly images: readonly AttachedImage[];
}

export const firstForm: PlaygroundForm = {
  system: "",
  text: "Say hello in three languages.",
  tools: "",
  images: [],
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

/** Settings that apply to all messages. */
export function SettingFields({ route, form, onForm }: QuestionFieldsProps) {
  const field = <Name extends keyof PlaygroundForm>(name: Name) => fieldOf(form, onForm, name);
  const [isStream, setStream] = field("stream");
  const has = (name: QuestionField) => route.fields.includes(name);
  return (
    <>
      {has("system") && <TextField label="System" state={field("system")} placeholder="none" />}
      {has("maxTokens") && (
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
      )}
      {has("size") && <SelectField label="Size" state={field("size")} choices={sizes} />}
      {has("voice") && <TextField label="Voice" state={field("voice")} required />}
      {has("tools") && (
        <details class="folded">
          <summary>Tools</summary>
          <LongField
            label="Tools as JSON"
            rows={6}
            state={field("tools")}
            placeholder={route.toolExample ?? ""}
          />
        </details>
      )}
    </>
  );
}

interface MessageFieldsProps extends QuestionFieldsProps {
  /** The model waits for what its tools return. */
  readonly isForTools: boolean;
}

/** The next message. */
export function MessageFields({ route, form, onForm, isForTools }: MessageFieldsProps) {
  const field = <Name extends keyof PlaygroundForm>(name: Name) => fieldOf(form, onForm, name);
  const [, setFile] = field("file");
  const long = (label: string, rows: number, name: "text" | "documents" | "suffix") => (
    <LongField label={label} rows={rows} state={field(name)} isRequired />
  );
  const fields: Readonly<Partial<Record<QuestionField, ComponentChildren>>> = {
    text: long(isForTools ? "Result of the tool" : (route.textLabel ?? "Message"), 3, "text"),
    suffix: long("Text after the gap", 3, "suffix"),
    documents: long("Documents, one per line", 4, "documents"),
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
    images: isForTools ? undefined : <ImageField state={field("images")} />,
  };
  return <>{route.fields.map((name) => fields[name])}</>;
}

function ImageField({ state: [images, onImages] }: { state: State<readonly AttachedImage[]> }) {
  const add = async (files: readonly File[]) => {
    const added = await Promise.all(files.map(readImage)).catch((error: Error) => {
      notify(error.message, "bad");
      return [];
    });
    onImages([...images, ...added]);
  };
  return (
    <div class="attached line">
      <label class="button quiet">
        <input
          class="unseen"
          type="file"
          accept="image/*"
          multiple
          onChange={({ currentTarget }) => {
            void add([...(currentTarget.files ?? [])]);
            currentTarget.value = "";
          }}
        />
        Add images
      </label>
      {images.map(({ name }, place) => (
        <Button key={`${place} ${name}`} kind="quiet" onClick={() => onImages(images.toSpliced(place, 1))}>
          Remove {name}
        </Button>
      ))}
    </div>
  );
}

function readImage(file: File): Promise<AttachedImage> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name, address: String(reader.result) });
    reader.onerror = () => reject(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

/** A recorded request, which can be edited and sent instead of the form. */
export function RecordedFields({ state }: { state: State }) {
  return (
    <>
      <LongField label="Request body" rows={14} state={state} isRequired />
      <small class="muted">
        The model above replaces the recorded one. Images and files were not recorded and cannot be sent
        again.
      </small>
      <Button onClick={() => state[1]("")}>Use the form</Button>
    </>
  );
}

interface LongFieldProps {
  readonly label: string;
  readonly rows: number;
  readonly state: State;
  readonly placeholder?: string;
  readonly isRequired?: true;
}

function LongField({ label, rows, state: [value, onValue], placeholder, isRequired }: LongFieldProps) {
  return (
    <Field label={label}>
      {(id) => (
        <textarea
          id={id}
          rows={rows}
          value={value}
          required={isRequired}
          placeholder={placeholder}
          onInput={(event) => onValue(event.currentTarget.value)}
          onKeyDown={(event) => {
            const isSend = event.key === "Enter" && (event.metaKey || event.ctrlKey);
            if (isSend) event.currentTarget.form?.requestSubmit();
          }}
        />
      )}
    </Field>
  );
}
