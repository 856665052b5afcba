import { existsSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";

/** Who runs this command, for the audit log; behind sudo, the calling user and the one it became. */
export function callingUser(): string {
  const behindSudo = process.env["SUDO_USER"];
  const username = systemUser();
  const isHidden = behindSudo !== undefined && behindSudo !== "" && behindSudo !== username;
  return isHidden ? `${behindSudo} as ${username}` : username;
}

/** Bun reads the name from the environment. Services, cron and containers do not set it, and it is then "unknown". */
function systemUser(): string {
  try {
    const { username } = userInfo();
    if (username !== "" && username !== "unknown") return username;
  } catch {
    // The user does not exist on this machine; its number is shown instead.
  }
  const uid = process.getuid?.();
  return uid === undefined ? "user unknown" : nameOfUser(uid);
}

/** The name in the system's list of users, else the number. */
export function nameOfUser(uid: number): string {
  if (!existsSync("/etc/passwd")) return `user ${uid}`;
  const users = readFileSync("/etc/passwd", "utf8").split("\n");
  const [name] = users.map((line) => line.split(":")).find((fields) => fields[2] === String(uid)) ?? [];
  return name ?? `user ${uid}`;
}
