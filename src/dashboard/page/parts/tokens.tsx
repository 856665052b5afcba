import { exactNumber, shortCount } from "../format.ts";

/** Tokens in short. Pointing at them shows all digits. */
export function Tokens({ value }: { value: number }) {
  return <span title={`${exactNumber(value)} tokens`}>{shortCount(value)}</span>;
}
