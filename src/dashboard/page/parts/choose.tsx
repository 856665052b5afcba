import { query, setQuery } from "../router.ts";
import type { Choice } from "./field.tsx";

interface ChooseProps {
  /** Of the parameter in the page's address, which keeps what was chosen. */
  readonly name: string;
  readonly label: string;
  /** The text for no choice. */
  readonly otherwise: string;
  readonly choices: readonly Choice[];
}

/** Values that are shown as they are. */
export function plainChoices(values: readonly string[]): readonly Choice[] {
  return values.map((value) => ({ value, text: value }));
}

/** A filter or an order of a list. What the address has is offered, even if it is no longer known. */
export function Choose({ name, label, otherwise, choices }: ChooseProps) {
  const chosen = query.value.get(name) ?? "";
  const isKnown = chosen === "" || choices.some(({ value }) => value === chosen);
  const offered = [{ value: "", text: otherwise }, ...(isKnown ? [] : plainChoices([chosen])), ...choices];
  return (
    <select
      aria-label={label}
      onChange={(event) => setQuery({ [name]: event.currentTarget.value, cursor: null })}
    >
      {offered.map(({ value, text }) => (
        <option key={value} value={value} selected={value === chosen}>
          {text}
        </option>
      ))}
    </select>
  );
}
