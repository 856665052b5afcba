/** An alert as it is posted. */
export interface PostedAlert {
  readonly text: string;
  readonly kind: string;
  readonly state: "firing" | "resolved";
  readonly subject: { readonly type: string; readonly id: string; readonly label: string };
  readonly at: string;
  readonly details: Readonly<Record<string, unknown>>;
}

interface Post {
  readonly body: string;
  readonly headers: Headers;
}

/** An operator's webhook: a real server that records what it gets, and answers as scripted. */
export class HookServer implements Disposable {
  readonly posts: Post[] = [];
  /** What it answers; a function may take its time. */
  answer: () => Response | Promise<Response> = () => new Response("ok");
  /** The most posts that were being answered at the same time. */
  mostAtOnce = 0;
  #atOnce = 0;
  readonly #server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      this.#atOnce += 1;
      this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce);
      this.posts.push({ body: await request.text(), headers: request.headers });
      try {
        return await this.answer();
      } finally {
        this.#atOnce -= 1;
      }
    },
  });

  /** Has a secret in its path, like the webhooks of chat services. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/services/hook-canary`;
  }

  get alerts(): PostedAlert[] {
    return this.posts.map(({ body }) => JSON.parse(body) as PostedAlert);
  }

  /** What was posted about this kind, in short. */
  told(kind: string): string[] {
    const alerts = this.alerts.filter((alert) => alert.kind === kind);
    return alerts.map(({ state, details }) => [state, details["level"] ?? ""].join(" ").trim());
  }

  [Symbol.dispose](): void {
    this.#server.stop(true);
  }
}
