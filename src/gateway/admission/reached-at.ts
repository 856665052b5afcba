const saneHost = /^[\w.:[\]-]{1,255}$/;

/**
 * The origin under which the client reached the gateway, for messages to that client. Proxies that terminate TLS or
 * change the host announce it in headers. They need not be trusted: a client that forges them only misleads itself.
 */
export function originReachedAt(request: Pick<Request, "url" | "headers">): string {
  const { protocol, host } = URL.canParse(request.url)
    ? new URL(request.url)
    : { protocol: "http:", host: "" };
  const forwardedHost = first(request.headers.get("x-forwarded-host"));
  const named = [forwardedHost, request.headers.get("host") ?? "", host].find((name) => saneHost.test(name));
  const isSecure = protocol === "https:" || first(request.headers.get("x-forwarded-proto")) === "https";
  return `${isSecure ? "https" : "http"}://${named ?? "localhost"}`;
}

/** The outermost of several proxies comes first. */
function first(list: string | null): string {
  return (list?.split(",")[0] ?? "").trim().toLowerCase();
}
