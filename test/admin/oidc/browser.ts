/** Follows redirects and keeps cookies as a browser does, across the hosts of one machine. */
export class Browser {
  readonly #jars = new Map<string, Map<string, string>>();

  async open(address: string, init: RequestInit = {}): Promise<Response> {
    let url = new URL(address);
    let response = await this.fetch(url, init);
    for (let hops = 0; hops < 20 && response.headers.has("location"); hops += 1) {
      url = new URL(response.headers.get("location") ?? "", url);
      const isBack = /^\/(admin|usage)/.test(url.pathname) && !url.pathname.startsWith("/admin/oidc/");
      if (isBack) return response;
      response = await this.fetch(url);
    }
    return response;
  }

  /** One request, without following. */
  async fetch(url: URL | string, init: RequestInit = {}): Promise<Response> {
    const { host } = new URL(url);
    const jar = this.#jars.get(host) ?? new Map<string, string>();
    this.#jars.set(host, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", ...init, headers: { cookie, ...init.headers } });
    for (const set of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === "") jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  cookieNames(host: string): string[] {
    return [...(this.#jars.get(host)?.keys() ?? [])];
  }

  cookie(host: string, name: string): string | undefined {
    return this.#jars.get(host)?.get(name);
  }
}
