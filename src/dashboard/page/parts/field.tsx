import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

/** A value and its setter, as `useState` returns them. */
export type State<Value = string> = readonly [value: Value, set: (value: Value) => void];

export function fieldOf<Form, Name extends keyof Form>(
  form: Form,
  onForm: (form: Form) => void,
  name: Name,
): State<Form[Name]> {
  return [form[name], (value) => onForm({ ...form, [name]: value })];
}

export interface LabelProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
}

export function Field({
  label,
  hint,
  children,
}: LabelProps & { children: (id: string) => ComponentChildren }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
      {hint !== undefined && <small class="muted">{hint}</small>}
    </div>
  );
}

interface TextFieldProps extends LabelProps {
  readonly state: State;
  readonly type?: "password" | "date";
  readonly inputMode?: "decimal" | "numeric";
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly autocomplete?: string;
}

export function TextField({ label, hint, state: [value, onValue], type, ...input }: TextFieldProps) {
  const onInput = ({ currentTarget }: InputEvent) => {
    if (currentTarget instanceof HTMLInputElement) onValue(currentTarget.value);
  };
  return (
    <Field label={label} hint={hint}>
      {(id) => {
        const shared = { spellcheck: false, autocomplete: "off", ...input, id, value, onInput };
        if (type === "password") return <input type="password" {...shared} />;
        return type === "date" ? <input type="date" {...shared} /> : <input type="text" {...shared} />;
      }}
    </Field>
  );
}

export interface Choice {
  readonly value: string;
  readonly text: string;
}

export interface SelectProps {
  readonly state: State;
  readonly choices: readonly Choice[];
}

/** Longer choices, such as some models, are cut. */
const maxShown = 24;

type FieldName = { readonly id: string } | { readonly "aria-label": string };

export function Select({ state: [chosen, onValue], choices, ...attributes }: SelectProps & FieldName) {
  const text = choices.find(({ value }) => value === chosen)?.text ?? "";
  const title = text.length > maxShown ? text : undefined;
  return (
    <select
      {...attributes}
      title={title}
      value={chosen}
      onChange={(event) => onValue(event.currentTarget.value)}
    >
      {choices.map(({ value, text }) => (
        <option key={value} value={value} selected={value === chosen}>
          {text}
        </option>
      ))}
    </select>
  );
}

export function SelectField({ label, hint, ...select }: LabelProps & SelectProps) {
  return (
    <Field label={label} hint={hint}>
      {(id) => <Select id={id} {...select} />}
    </Field>
  );
}
