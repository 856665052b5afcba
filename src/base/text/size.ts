const units = ["KiB", "MiB", "GiB", "TiB"];

/** `12 KiB`, `3.4 GiB`: only significant digits. */
export function size(bytes: number): string {
  const power = Math.max(1, Math.min(Math.floor(Math.log2(bytes) / 10), units.length));
  const value = bytes / 1024 ** power;
  return `${value.toFixed(value < 10 && !Number.isInteger(value) ? 1 : 0)} ${units[power - 1]}`;
}
