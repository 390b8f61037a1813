/** Powers of ten that the decimal suffixes stand for. */
const decimalSuffixes: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};

const binarySuffixes: Readonly<Record<string, number>> = {
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const quantityPattern = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)$/;

/** The number that a Kubernetes quantity (`500m`, `0.5`, `2G`, `2Gi`, `1e9`) stands for; undefined when it is none. */
export function parseQuantity(text: string): number | undefined {
  const match = quantityPattern.exec(text.trim());
  if (!match) return undefined;
  const [, digits = "", exponent, suffix = ""] = match;
  // Read as one literal instead of multiplied: 1.1T is 1100000000000, not 1100000000000.0002.
  const decimal = exponent ?? `e${decimalSuffixes[suffix] ?? 0}`;
  const value = suffix in binarySuffixes ? Number(digits) * (binarySuffixes[suffix] ?? 1) : Number(digits + decimal);
  return Number.isFinite(value) ? value : undefined;
}

const byteUnits: readonly (readonly [string, number])[] = [
  ...Object.entries(binarySuffixes).reverse(),
  ...["E", "P", "T", "G", "M", "k"].map((suffix) => [suffix, 10 ** (decimalSuffixes[suffix] ?? 0)] as const),
];

/** A byte count as people write it: `2G`, `512Mi`, `1500`. */
export function formatBytes(bytes: number): string {
  for (const [suffix, unit] of byteUnits) {
    const amount = bytes / unit;
    if (amount >= 1 && amount < 10_000 && Number.isInteger(amount)) return `${amount}${suffix}`;
  }
  return String(bytes);
}
