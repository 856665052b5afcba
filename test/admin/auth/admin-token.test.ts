import { describe, expect, test } from "bun:test";
import { isToken, loadAdminToken, type TokenStore } from "../../../src/admin/auth/admin-token.ts";
import { hashSecret } from "../../../src/keys/secret.ts";

function memory(): TokenStore & { hash: string | null } {
  return {
    hash: null,
    async readAdminTokenHash() {
      return this.hash;
    },
    async saveAdminTokenHash(hash) {
      this.hash ??= hash;
      return this.hash;
    },
  };
}

describe("the admin token", () => {
  test("is generated once, kept as a hash only, and known again", async () => {
    const store = memory();
    const first = await loadAdminToken(null, store);
    expect(first.generated).toMatch(/^slua_[0-9A-Za-z]{32}$/);
    expect(store.hash).toBeNull();
    await first.save();
    expect(store.hash).not.toContain(first.generated ?? "");
    const second = await loadAdminToken(null, store);
    expect(second.generated).toBeNull();
    expect(isToken(second.tokenHash, first.generated ?? "")).toBeTrue();
  });

  test("is that of the gateway that was faster, where two start at once", async () => {
    const store = memory();
    const [one, other] = [await loadAdminToken(null, store), await loadAdminToken(null, store)];
    const inForce = [await one.save(), await other.save()];
    expect(inForce.map((hash) => isToken(hash, one.generated ?? ""))).toEqual([true, true]);
    expect(inForce.map((hash) => isToken(hash, other.generated ?? ""))).toEqual([false, false]);
  });

  test("that is configured comes before the one that was generated", async () => {
    const store = memory();
    const { tokenHash, generated } = await loadAdminToken("mine", store);
    expect(generated).toBeNull();
    expect(isToken(tokenHash, "mine")).toBeTrue();
  });

  test("is never empty: an empty setting is no setting", async () => {
    const { tokenHash, generated } = await loadAdminToken("", memory());
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
