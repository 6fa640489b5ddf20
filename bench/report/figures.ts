/**
 * The table of figures: the name of each and how it is printed. `{unit}` stands for the workload's unit: request,
 * stream or event.
 */
interface Row {
  label: string
  digits: number
}

const rows = {
  cpuUs: { label: 'CPU µs per {unit}', digits: 1 },
  userUs: { label: 'of it user', digits: 1 },
  systemUs: { label: 'of it system', digits: 1 },
  mainThreadUs: { label: 'of the main thread', digits: 1 },
  storeThreadUs: { label: "of the store's thread", digits: 1 },
  settlingUs: { label: 'of it for record, journal and store, in all threads', digits: 1 },
  perSecond: { label: 'requests/s, saturated', digits: 0 },
  perCore: { label: 'requests per core and second', digits: 0 },
  allocatedKiB: { label: 'KiB allocated per {unit}', digits: 2 },
  firstByteMs: { label: 'first byte, ms, p50', digits: 2 },
  openFirstByteMs: { label: 'the same, first byte, p50', digits: 3 },
  openP50Ms: { label: 'latency in the open loop, ms, p50', digits: 3 },
  openP99Ms: { label: 'the same, p99', digits: 3 },
  openP999Ms: { label: 'the same, p99.9', digits: 3 },
  wholeP50Ms: { label: 'small whole answers, ms, p50', digits: 2 },
  wholeP99Ms: { label: 'the same, p99', digits: 2 },
  streamKiB: { label: 'KiB per open stream', digits: 1 },
  idleCpuMs: { label: 'CPU ms a second, with nothing to do', digits: 1 },
  silentCpuMs: { label: 'the same, with all streams open and silent', digits: 1 },
  stallMs: { label: 'worst stall of the event loop, ms', digits: 1 },
  stallCpuMs: { label: 'the same, in CPU time of the main thread', digits: 1 },
  statements: { label: 'store statements per request', digits: 4 },
  lookUps: { label: 'key look-ups per request', digits: 4 },
  startMs: { label: 'start to ready, ms', digits: 0 },
  idleMiB: { label: 'MiB of all processes, idle', digits: 0 },
  cores: { label: 'cores kept busy', digits: 2 },
  loadCores: { label: 'cores kept busy by the load', digits: 2 },
  loadLateMs: { label: 'sent late by, ms, p99', digits: 3 },
} satisfies Record<string, Row>

export type Figure = keyof typeof rows
export const FIGURES: Record<Figure, Row> = rows
