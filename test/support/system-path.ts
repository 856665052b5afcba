/**
 * dpkg, chroot and nginx are in folders that not every PATH has, not even root's. Tests find what is installed there, and what
 * they start does too.
 */
const folders = (process.env["PATH"] ?? "").split(":");
const system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].filter((folder) => !folders.includes(folder));
process.env["PATH"] = [...folders, ...system].join(":");
