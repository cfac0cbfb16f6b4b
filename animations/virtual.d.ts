/** Made by the build from i18n/{zh,en}.toml: the words that one module needs. */
declare module "virtual:words" {
  const words: Record<"zh" | "en", Record<string, string>>;
  export default words;
}
