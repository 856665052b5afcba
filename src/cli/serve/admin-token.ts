import type { Style } from "../terminal/style.ts";

/** Shows the token generated at the first start. Only its hash is stored, so it is never shown again. */
export function adminTokenText(token: string, url: string, json: boolean, style: Style): string {
  if (json) return JSON.stringify({ admin_token: token });
  return [
    `${style.good("✓")} The dashboard is at ${url}/admin. Its token is shown only now:`,
    "",
    `  ${style.bold(token)}`,
    "",
    "  Set SLUICE_ADMIN_TOKEN to use one of your own instead.",
    "",
  ].join("\n");
}

/** The dashboard's address, if the token is already known. */
export function dashboardText(url: string): string {
  return `the dashboard is at ${url}/admin`;
}
