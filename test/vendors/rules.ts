/**
 * The rules about providers that tests must name, by their ids: what each vendor sends, wants and refuses. A test names the
 * rules that it proves at the end of its title, as in `"… (K01, K02)"`, or at its start.
 */
interface RuleFamily {
  readonly about: string;
  readonly letter: string;
  /** Of numbers from 1 on. */
  readonly count: number;
}

const families: readonly RuleFamily[] = [
  { letter: "K", count: 6, about: "credentials" },
  { letter: "G", count: 68, about: "Gemini" },
  { letter: "Z", count: 15, about: "Azure" },
  { letter: "V", count: 17, about: "Vertex AI" },
  { letter: "Q", count: 21, about: "servers with OpenAI's API" },
  { letter: "B", count: 61, about: "Bedrock" },
  { letter: "T", count: 18, about: "cases that span several of them" },
];

export const ruleIds: readonly string[] = [
  ...families.flatMap(({ letter, count }) =>
    Array.from({ length: count }, (_, index) => `${letter}${String(index + 1).padStart(2, "0")}`),
  ),
];
