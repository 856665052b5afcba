/** Identifies a migration by its statements; comments and whitespace don't count. */
export function fingerprintOf(migration: string): string {
  const statements = migration.replaceAll(/--.*$/gm, "").replaceAll(/\s+/g, " ").trim();
  return new Bun.CryptoHasher("sha256").update(statements).digest("hex");
}
