import { newId } from "../base/id.ts";

const style = `
:root { color-scheme: light dark; --ink: #1b2733; --soft: #5c6b7a; --line: #d9e0e6; --page: #f7f9fa; --accent: #0b6e8a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4ebf0; --soft: #93a3b1; --line: #2b3944; --page: #10171c; --accent: #5cc3de; }
}
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; }
main { max-width: 40rem; margin: 0 auto; padding: 12vh 1.5rem 4rem; }
h1 { font-size: 2rem; margin: 0 0 .25rem; letter-spacing: -.02em; }
p { color: var(--soft); margin: 0 0 1.5rem; }
table { width: 100%; border-collapse: collapse; margin: 0 0 1.5rem; }
td { padding: .5rem 0; border-top: 1px solid var(--line); vertical-align: top; }
td + td { color: var(--soft); padding-left: 1.5rem; }
code { font: .875rem/1.6 ui-monospace, monospace; white-space: nowrap; }
a { color: var(--accent); }
`;

const dashboard = `<tr><td><a href="/admin"><code>/admin</code></a></td><td>The dashboard, for operators.</td></tr>
`;

const page = (dashboardRow: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice</title>
<style>${style}</style>
<main>
<h1>Sluice</h1>
<p>Sluice is running.</p>
<table>
<tr><td><code>/v1</code></td><td>Base URL for OpenAI clients with a credit key. Anthropic and Google clients use it without <code>/v1</code>.</td></tr>
<tr><td><code>/token/v1</code></td><td>Base URL for OpenAI clients with a token-budget key. Anthropic and Google clients use <code>/token</code>.</td></tr>
<tr><td><a href="/v1/models"><code>/v1/models</code></a></td><td>The public model catalog.</td></tr>
<tr><td><a href="/openapi.json"><code>/openapi.json</code></a></td><td>The API as OpenAPI.</td></tr>
<tr><td><a href="/usage"><code>/usage</code></a></td><td>Usage and remaining balance of your key.</td></tr>
${dashboardRow}</table>
</main>
</html>
`;

const styleHash = new Bun.CryptoHasher("sha256").update(style).digest("base64");

const headers = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'; base-uri 'none'`,
  "x-content-type-options": "nosniff",
};

const pages = { withDashboard: new Blob([page(dashboard)]), plain: new Blob([page("")]) };

/** The page for a browser that opens the gateway's address. */
export function landingPage(hasDashboard: boolean): Response {
  return new Response(hasDashboard ? pages.withDashboard : pages.plain, {
    headers: { ...headers, "x-request-id": newId("req_") },
  });
}
