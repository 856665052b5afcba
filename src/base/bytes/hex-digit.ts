/** The value of a byte that is not a hexadecimal digit. */
export const noDigit = -1;

/** The value of an ASCII hexadecimal digit of either case. */
export function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : noDigit;
}
