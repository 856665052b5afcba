import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly children: (id: string) => ComponentChildren;
}

export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
      {hint !== undefined && <p class="hint">{hint}</p>}
    </div>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly secret?: boolean;
  readonly inputMode?: "decimal" | "numeric";
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly autoComplete?: string;
}

export function TextField(props: TextFieldProps) {
  return (
    <Field label={props.label} hint={props.hint}>
      {(id) => {
        const shared = {
          id,
          value: props.value,
          placeholder: props.placeholder,
          required: props.required,
          autocomplete: props.autoComplete ?? "off",
          onInput: (event: InputEvent) => {
            if (event.currentTarget instanceof HTMLInputElement) props.onValue(event.currentTarget.value);
          },
        };
        if (props.secret) return <input type="password" {...shared} />;
        return <input type="text" inputMode={props.inputMode} spellcheck={false} {...shared} />;
      }}
    </Field>
  );
}

export interface Choice {
  readonly value: string;
  readonly text: string;
}

interface SelectFieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onValue: (value: string) => void;
}

export function SelectField(props: SelectFieldProps) {
  return (
    <Field label={props.label} hint={props.hint}>
      {(id) => (
        <select id={id} value={props.value} onChange={(event) => props.onValue(event.currentTarget.value)}>
          {props.choices.map((choice) => (
            <option key={choice.value} value={choice.value} selected={choice.value === props.value}>
              {choice.text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
