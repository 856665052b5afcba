/** Numbers as people type them, at the command line and in the dashboard's forms, and as programs write them. */

/** Digits and nothing else, as in a query or a file; null for anything else, such as `1e1`, `0x5` and ` 5`. */
export function wholeFromDigits(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** `1000000`, `1_000_000` or `1,000,000`; null for anything else, such as a comma that does not group thousands. */
export function wholeFromText(text: string): number | null {
  const plain = text.trim();
  if (!/^\d{1,15}$|^\d{1,3}(,\d{3}){1,4}$|^\d{1,3}([_ ']\d{3}){1,4}$/.test(plain)) return null;
  return Number(plain.replaceAll(/[_,' ]/g, ""));
}

/** `2,500` could mean two and a half or two thousand five hundred. Sluice does not guess amounts. */
export const commaInCredits = "Use a decimal point and no commas, such as 2.5 or 1000.";

/** Credits with a sign or without; null for anything else. */
export function creditsFromText(text: string): number | null {
  const plain = text.trim();
  return /^[+-]?\d{1,9}(\.\d{1,9})?$/.test(plain) ? Number(plain) : null;
}
