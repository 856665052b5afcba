import { expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { YAML } from "bun";
import { loadSettings } from "../../src/config/load.ts";
import { newFolder } from "../support/new-folder.ts";

interface Compose {
  readonly services: Readonly<Record<string, { readonly configs?: readonly { readonly source: string }[] }>>;
  readonly configs: Readonly<Record<string, { readonly content: string }>>;
}

const folder = new URL("../../config/deploy", import.meta.url).pathname;
const read = (file: string) => readFileSync(join(folder, file), "utf8");

test("the compose file has a database, two gateways and nginx, and a configuration that is sound", () => {
  const { services, configs } = YAML.parse(read("compose.yaml")) as Compose;
  expect(Object.keys(services)).toEqual(["db", "gateway-1", "gateway-2", "nginx"]);
  for (const name of ["gateway-1", "gateway-2"])
    expect(services[name]?.configs).toMatchObject([{ source: "sluice" }]);
  const dir = newFolder();
  const file = join(dir, "sluice.toml");
  const password = join(dir, "db_password");
  writeFileSync(password, "a password\n");
  writeFileSync(file, (configs["sluice"]?.content ?? "").replace("/run/secrets/db_password", password));
  const { settings } = loadSettings({ file, env: { OPENAI_API_KEY: "sk-test" }, cwd: dir });
  rmSync(dir, { recursive: true });
  expect(settings.warnings).toEqual([]);
  expect(settings.store).toEqual({
    url: "postgres://sluice@db:5432/sluice",
    password: { file: password, atStart: "a password" },
    prepare: true,
  });
  for (const name of ["gateway-1", "gateway-2"])
    expect(configs["nginx"]?.content).toContain(`server ${name}:8787 `);
});

test("nginx before two gateways lets through what nginx before one does", () => {
  const paths = ["/v1/models", "/token/v1/usage", "/v2/rerank", "/rerank", "/token/api/hello", "/healthz"];
  const others = ["/usage", "/usage/api/v1/keys", "/openapi.json", "/openapi-extensions.json"];
  others.push("/admin/oidc/login", "/admin/oidc/callback", "/.well-known/oauth-authorization-server");
  others.push("/oauth/device_authorization", "/oauth/token", "/token/oauth/revoke", "/managed/settings");
  others.push("/token/.well-known/oauth-authorization-server", "/token/api/oauth/usage", "/v1/metrics");
  const closed = [
    "/",
    "/admin",
    "/admin/oidc",
    "/admin/oidc/login/x",
    "/oauth/",
    "/.well-known/",
    "/admin/api/v1/keys",
    "/metrics",
    "/readyz",
    "/usages",
    "/v1",
  ];
  const { configs } = YAML.parse(read("compose.yaml")) as Compose;
  const two = (configs["nginx"]?.content ?? "").replaceAll("$$", "$");
  for (const text of [read("nginx.conf"), two]) {
    const open = [...text.matchAll(/^ *location (~|=) (\S+) \{/gm)].map(
      ([, kind, path = ""]) => new RegExp(kind === "=" ? `^${path}$` : path),
    );
    const isOpen = (path: string) => open.some((pattern) => pattern.test(path));
    expect([...paths, ...others].filter((path) => !isOpen(path))).toEqual([]);
    expect(closed.filter(isOpen)).toEqual([]);
    expect(text).toContain("client_max_body_size 1g;");
  }
});

test("the template unit differs from the single one by its instance alone", () => {
  const lines = (file: string) =>
    read(file)
      .split("\n")
      .filter((line) => /^\w+=/.test(line));
  const template = lines("sluice@.service");
  const single = lines("sluice.service");
  const own = template.filter((line) => !single.includes(line));
  expect(own.every((line) => line.includes("%i") || line.startsWith("After="))).toBe(true);
  expect(template).toHaveLength(single.length);
});

interface Manifest {
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly replicas?: number;
    readonly ports?: readonly { readonly port: number }[];
    readonly template?: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly {
          readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
          readonly livenessProbe: Probe;
          readonly readinessProbe: Probe;
        }[];
      };
    };
  };
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

test("the Kubernetes manifests have a sound configuration, probes that are served, and a longer grace than the gateway's", () => {
  const manifests = YAML.parse(read("kubernetes.yaml")) as readonly Manifest[];
  const of = (kind: string) => manifests.find((each) => each.kind === kind);
  const dir = newFolder();
  const file = join(dir, "sluice.toml");
  writeFileSync(file, of("ConfigMap")?.data?.["sluice.toml"] ?? "");
  const env = { OPENAI_API_KEY: "sk-test", SLUICE_ADMIN_TOKEN: "only-for-this-test-00000000000000" };
  const { settings } = loadSettings({ file, env, cwd: dir });
  rmSync(dir, { recursive: true });
  expect(settings.warnings).toEqual([]);

  const stateful = of("StatefulSet")?.spec;
  const pod = stateful?.template?.spec;
  const [container] = pod?.containers ?? [];
  expect(stateful?.replicas).toBe(1);
  expect(pod?.terminationGracePeriodSeconds).toBeGreaterThan(settings.server.shutdownGraceMs / 1000);
  expect(container?.livenessProbe.httpGet).toEqual({ path: "/healthz", port: "api" });
  expect(container?.readinessProbe.httpGet).toEqual({ path: "/readyz", port: "api" });
  expect(container?.ports).toEqual([
    { name: "api", containerPort: settings.server.port },
    { name: "admin", containerPort: Number(settings.admin.listen?.split(":")[1]) },
  ]);
  // The admin side is not published.
  expect(of("Service")?.spec?.ports?.map(({ port }) => port)).toEqual([settings.server.port]);
});
