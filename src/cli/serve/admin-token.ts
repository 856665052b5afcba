import type { Style } from "../terminal/style.ts";

/** The token that was made at the first start; only its hash is kept, so this is the one time it is shown. */
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

/** Where the token is known already. */
export function dashboardText(url: string): string {
  return `the dashboard is at ${url}/admin`;
}
