import { readFileSync } from "node:fs";
import { rememberSecret } from "../../base/secrets/secrets.ts";
import type { StorePassword } from "../settings.ts";

/** The password for a new connection. One in a file is read again, because the file may have been rotated. */
export function readPassword(password: StorePassword | null): string {
  if (password === null || typeof password === "string") return password ?? "";
  const { file, atStart } = password;
  try {
    const read = readFileSync(file, "utf8").trim();
    if (read === "") return atStart;
    rememberSecret(read);
    return read;
  } catch {
    // The file is being replaced. The server says whether the old password is still right.
    return atStart;
  }
}
