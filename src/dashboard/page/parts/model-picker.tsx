import type { Choice, State } from "./field.tsx";

interface ModelPickerProps {
  readonly label: string;
  readonly hint?: string;
  /** With commas between them; empty means all. */
  readonly of: State;
  readonly choices: readonly Choice[];
}

/** Models to tick. One that is no longer served stays, until it is unticked. */
export function ModelPicker({ label, hint, of: [value, onValue], choices }: ModelPickerProps) {
  const chosen = value.split(",").flatMap((name) => name.trim() || []);
  const names = [...new Set([...choices.map((choice) => choice.value), ...chosen])];
  const toggle = (name: string) =>
    onValue((chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name]).join(", "));
  return (
    <fieldset class="picker">
      <legend>{label}</legend>
      <div>
        {names.map((name) => (
          <label key={name}>
            <input type="checkbox" checked={chosen.includes(name)} onChange={() => toggle(name)} /> {name}
          </label>
        ))}
      </div>
      {hint && <small class="muted">{hint}</small>}
    </fieldset>
  );
}
