import type { SelectProps } from "./field.tsx";

/** A choice of a few visible options. Radio buttons underneath, so that arrow keys work. */
export function Segmented({ label, state: [value, onValue], choices }: SelectProps & { label: string }) {
  return (
    <fieldset class="segmented">
      <legend class="unseen">{label}</legend>
      {choices.map((choice) => (
        <label key={choice.value}>
          <input
            type="radio"
            name={label}
            value={choice.value}
            checked={choice.value === value}
            onChange={() => onValue(choice.value)}
          />
          <span>{choice.text}</span>
        </label>
      ))}
    </fieldset>
  );
}
