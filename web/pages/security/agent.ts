/** The name of a browser and its system, from what it says of itself; else the first words of that. */

const BROWSERS: [name: string, mark: RegExp][] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|CriOS|HeadlessChrome)\//],
  ['Safari', /\bVersion\/[\d.]+.*Safari\//],
]
const SYSTEMS: [name: string, mark: RegExp][] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
]
const MOST_LETTERS = 40

export function agentName(agent: string): string {
  const of = (table: [name: string, mark: RegExp][]) => table.find(([, mark]) => mark.test(agent))?.[0]
  const browser = of(BROWSERS)
  const system = of(SYSTEMS)
  if (browser === undefined) return agent.slice(0, MOST_LETTERS) || '—'
  return system === undefined ? browser : `${browser} · ${system}`
}
