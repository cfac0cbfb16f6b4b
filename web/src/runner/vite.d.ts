declare module "virtual:words/*" {
  const words: Record<"zh" | "en", Record<string, string>>;
  export default words;
}

declare module "*?raw" {
  const text: string;
  export default text;
}
