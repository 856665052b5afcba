import { newId } from "../base/id.ts";

/** The base paths of the dashboard and of the self-service page; both are the same script. */
export type PageBase = "/admin" | "/usage";

/**
 * Serves a base and everything below it except the API: one page for every address (routed in the page), its
 * script, its style and its icon. Everything is served from here, so the content security policy can forbid all
 * else, inline scripts and styles included.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Images and sound that the playground was answered with, and nothing from elsewhere.
  "img-src 'self' blob:",
  "media-src blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const pageHeaders = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><g fill="none" stroke="#0e8ba3" stroke-width="2.6" stroke-linecap="round"><rect x="4" y="3" width="24" height="11" rx="3" fill="#0e8ba3" stroke="none"/><path d="M4 20c4 0 4 3 8 3s4-3 8-3 4 3 8 3M4 26c4 0 4 3 8 3s4-3 8-3 4 3 8 3"/></g></svg>`;

interface Files {
  /** Changes with the page. It is part of the assets' URLs, so browsers may cache them for ever. */
  readonly version: string;
  readonly byName: ReadonlyMap<string, Asset>;
}

interface Asset {
  readonly type: string;
  /** Compressed when the program was built. */
  readonly gzip: Uint8Array<ArrayBuffer>;
}

let files: Promise<Files> | undefined;

async function load(): Promise<Files> {
  const { page } = await import("./assets.ts");
  return {
    version: Bun.hash(page.script + page.style).toString(36),
    byName: new Map([
      ["main.js", { type: "text/javascript; charset=utf-8", gzip: bytesOf(page.script) }],
      ["main.css", { type: "text/css; charset=utf-8", gzip: bytesOf(page.style) }],
      ["icon.svg", { type: "image/svg+xml", gzip: Bun.gzipSync(icon) }],
    ]),
  };
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(base64, "base64"));
}

/** Compressed for nearly every client, and unpacked for one that does not accept that. */
function assetResponse({ type, gzip }: Asset, request: Request, headers: Record<string, string>): Response {
  const all = { ...headers, "content-type": type, vary: "accept-encoding" };
  const accepts = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
  if (!accepts) return new Response(Bun.gunzipSync(gzip), { headers: all });
  return new Response(gzip, { headers: { ...all, "content-encoding": "gzip" } });
}

function html(base: PageBase, version: string, theme: "light" | "dark" | null): string {
  const at = `${base}/assets/${version}`;
  return `<!doctype html>
<html lang="en"${theme === null ? "" : ` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Sluice</title>
<link rel="icon" href="${at}/icon.svg">
<link rel="stylesheet" href="${at}/main.css">
<script type="module" src="${at}/main.js"></script>
</head>
<body><div id="app"></div><noscript>The dashboard needs JavaScript.</noscript></body>
</html>
`;
}

/** Only these two values can be written into the page, even if the cookie contains others. */
function themeOf(request: Request): "light" | "dark" | null {
  const chosen = /(?:^|;\s*)sluice_theme=(light|dark)(?:;|$)/.exec(request.headers.get("cookie") ?? "")?.[1];
  return chosen === "light" || chosen === "dark" ? chosen : null;
}

export async function pageResponse(request: Request, path: string, base: PageBase): Promise<Response> {
  const headers = { ...pageHeaders, "x-request-id": newId("req_") };
  files ??= load();
  const { version, byName } = await files;
  const asset = /^\/\w+\/assets\/([^/]+)\/([^/]+)$/.exec(path);
  if (!asset) {
    return new Response(html(base, version, themeOf(request)), {
      headers: { ...headers, "content-type": "text/html; charset=utf-8", "cache-control": "no-store" },
    });
  }
  const file = byName.get(asset[2] ?? "");
  if (!file || asset[1] !== version) return new Response("not found\n", { status: 404, headers });
  return assetResponse(file, request, { ...headers, "cache-control": "public, max-age=31536000, immutable" });
}
