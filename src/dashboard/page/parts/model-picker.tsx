import type { LabelProps, SelectProps } from "./field.tsx";

/** Models to tick, kept with commas between them. One that is no longer served stays, until it is unticked. */
export function ModelPicker({ label, hint, of: [value, onValue], choices }: LabelProps & SelectProps) {
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
