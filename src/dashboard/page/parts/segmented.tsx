import type { Choice } from "./field.tsx";

interface SegmentedProps {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onValue: (value: string) => void;
}

/** One of a few, all in sight. Radio buttons underneath, so that arrow keys move between them. */
export function Segmented({ label, value, choices, onValue }: SegmentedProps) {
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
