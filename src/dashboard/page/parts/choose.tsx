import { titled } from "../format.ts";
import { parameter } from "../router.ts";
import { ComboBox } from "./combo-box.tsx";
import { type Choice, Select } from "./field.tsx";

interface ChooseProps {
  /** The URL parameter that holds the choice. */
  readonly name: string;
  /** By default the name. */
  readonly label?: string;
  /** The text without a choice; by default "Any" and the name. */
  readonly otherwise?: string;
  readonly choices: readonly Choice[];
}

/** Values, each with the text that is shown for it. */
export function choicesOf(texts: Readonly<Record<string, string>>): readonly Choice[] {
  return Object.entries(texts).map(([value, text]) => ({ value, text }));
}

/** Values shown unchanged. */
export function plainChoices(values: readonly string[]): readonly Choice[] {
  return values.map((value) => ({ value, text: value }));
}

/** More choices than this are searched. */
const maxInSelect = 40;

/** A filter or order of a list. The value in the URL stays in the list even if it no longer exists. */
export function Choose({ name, label, otherwise = `Any ${name}`, choices }: ChooseProps) {
  const [chosen] = parameter(name);
  const isKnown = chosen === "" || choices.some(({ value }) => value === chosen);
  const offered = [{ value: "", text: otherwise }, ...(isKnown ? [] : plainChoices([chosen])), ...choices];
  const title = label ?? titled(name);
  if (choices.length > maxInSelect) {
    return (
      <ComboBox
        aria-label={title}
        state={parameter(name)}
        choices={offered.filter(({ value }) => value !== "")}
        placeholder={otherwise}
      />
    );
  }
  return <Select aria-label={title} state={parameter(name)} choices={offered} />;
}
