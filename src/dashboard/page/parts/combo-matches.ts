/** The text itself, then what begins with it, then what has it elsewhere. */
export function matchesOf<Choice extends { readonly text: string }>(
  choices: readonly Choice[],
  typed: string,
): readonly Choice[] {
  const text = typed.trim().toLowerCase();
  const found = choices.filter((choice) => choice.text.toLowerCase().includes(text));
  const distance = (choice: Choice) => {
    const name = choice.text.toLowerCase();
    return name === text ? 0 : name.startsWith(text) ? 1 : 2;
  };
  return found.toSorted((one, other) => distance(one) - distance(other));
}
