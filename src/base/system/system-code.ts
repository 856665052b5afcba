/** The code of an error of the system, the runtime or the database, such as `ENOENT`; null if it has none. */
export function systemCode(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}
