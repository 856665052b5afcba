import { describe, expect, test } from "bun:test";
import { isToken, loadAdminToken, type TokenStore } from "../../../src/admin/access/admin-token.ts";
import { hashSecret } from "../../../src/keys/secret.ts";
import type { FirstAdminToken } from "../../../src/store/admin-records.ts";

function memory(): TokenStore & { token: FirstAdminToken | null } {
  return {
    token: null,
    async readAdminToken() {
      return this.token;
    },
    async saveAdminToken(token) {
      this.token ??= token;
      return this.token.hash;
    },
  };
}

const load = (store: TokenStore, configured: string | null = null) =>
  loadAdminToken({ configured, isTrial: false }, store);

describe("the admin token", () => {
  test("is generated once, kept as a hash only, and known again", async () => {
    const store = memory();
    const first = await load(store);
    expect(first.generated).toMatch(/^slua_[0-9A-Za-z]{32}$/);
    expect(store.token).toBeNull();
    await first.save();
    expect(store.token?.hash).not.toContain(first.generated ?? "");
    const second = await load(store);
    expect(second.generated).toBeNull();
    expect(isToken(second.tokenHash, first.generated ?? "")).toBeTrue();
  });

  test("is that of the gateway that was faster, where two start at once", async () => {
    const store = memory();
    const [one, other] = [await load(store), await load(store)];
    const inForce = [await one.save(), await other.save()];
    expect(inForce.map((hash) => isToken(hash, one.generated ?? ""))).toEqual([true, true]);
    expect(inForce.map((hash) => isToken(hash, other.generated ?? ""))).toEqual([false, false]);
  });

  test("that is configured comes before the one that was generated", async () => {
    const store = memory();
    const { tokenHash, generated } = await load(store, "mine");
    expect(generated).toBeNull();
    expect(isToken(tokenHash, "mine")).toBeTrue();
  });

  test("is never empty: an empty setting is no setting", async () => {
    const { tokenHash, generated } = await load(memory(), "");
    expect(generated).not.toBeNull();
    expect(isToken(tokenHash, "")).toBeFalse();
  });

  test("matches only itself, whatever the length of the guess", () => {
    const hash = hashSecret("right");
    for (const guess of ["", "r", "righ", "right ", "Right", "x".repeat(100_000)]) {
      expect(isToken(hash, guess)).toBeFalse();
    }
    expect(isToken(hash, "right")).toBeTrue();
  });
});
