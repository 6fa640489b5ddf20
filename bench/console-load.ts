/**
 * `npm run bench:console [-- --rounds N --usage ROWS --rate N --export-rate SIZE --only reports|exports --write]`: what a
 * person on the console costs the relay. Small JSON is measured at a fixed rate on one gateway, in turns with nobody there
 * and with somebody who has a session, reads reports of a large account one after the other, and meanwhile downloads all
 * its requests again and again. Both are answered by the process that relays, so its CPU has the work for the console in
 * it. --write puts the figures into docs/performance.md.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { scriptOptions } from '../test/support/script.ts'
import { loadRightly, orderFor, startProbed, stopAll } from './kinds/context.ts'
import { type Seen, type WatchedBooks, watch, watchedBooks } from './parts/console-watch.ts'
import type { Probed } from './parts/probed.ts'
import { ROOT, startUpstream } from './parts/subjects.ts'
import { chatBody } from './parts/workloads.ts'
import { replaceBlock } from './report/doc-block.ts'
import { median } from './report/statistics.ts'
import { GATEWAY } from './report/targets.ts'

const values = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '5' },
  usage: { type: 'string', default: '200000' },
  rate: { type: 'string', default: '500' },
  'export-rate': { type: 'string' },
  only: { type: 'string' },
  write: { type: 'boolean', default: false },
})
const [rounds, usage, rate] = [Number(values.rounds), Number(values.usage), Number(values.rate)]
const SECONDS = 8
const BODY_BYTES = 200
const WARM_S = 1
/** Where there are users, a gateway needs one of its own. */
const SECRET = 'a-secret-of-the-bench'

interface Round {
  p50Ms: number
  p99Ms: number
  cpuUs: number
  threadUs: number
}

async function measure(subject: Probed, seconds: number): Promise<Round> {
  const requests = rate * seconds
  const kinds = [{ body: chatBody(BODY_BYTES, false) }]
  const before = await subject.read()
  const outcome = await loadRightly(orderFor(subject, { mode: 'open', kinds, requests, warm: rate * WARM_S, rate }))
  const after = await subject.read()
  const cpuUs = (after.userUs + after.systemUs - before.userUs - before.systemUs) / requests
  const threadUs = ((after.mainThreadUs ?? 0) - (before.mainThreadUs ?? 0)) / requests
  return { p50Ms: outcome.p50us / 1000, p99Ms: outcome.p99us / 1000, cpuUs, threadUs }
}

/** A round with somebody on the console. */
async function watched(subject: Probed, books: WatchedBooks, seen: Seen): Promise<Round> {
  const stop = watch(subject, books, values.only)
  try {
    return await measure(subject, SECONDS)
  } finally {
    const round = await stop()
    for (const name of ['reports', 'files', 'bytes'] as const) seen[name] += round[name]
  }
}

function report(alone: Round[], beside: Round[], seen: Seen): string {
  const row = (what: string, of: (round: Round) => number, digits: number) => {
    const ratio = median(alone.map((round, i) => of(beside[i] as Round) / of(round)))
    const [before, after] = [alone, beside].map(all => median(all.map(of)).toFixed(digits))
    return `| ${what} | ${before} | ${after} | ${ratio.toFixed(2)} |`
  }
  const given = (['export-rate', 'only'] as const)
    .map(name => (values[name] === undefined ? '' : ` --${name} ${values[name]}`))
    .join('')
  const perS = (count: number) => (count / rounds / SECONDS).toFixed(1)
  return [
    '| small JSON | nobody on the console | reports and an export | ratio |',
    '|---|---|---|---|',
    row('latency, ms, p50', round => round.p50Ms, 3),
    row('latency, ms, p99', round => round.p99Ms, 3),
    row('CPU µs of the thread that relays, per request', round => round.threadUs, 1),
    row('CPU µs of all threads per request, the work for the console included', round => round.cpuUs, 1),
    '',
    `${rate} requests/s, ${rounds} rounds of ${SECONDS} s, medians. Beside them ${perS(seen.reports)} reports and ${perS(seen.bytes / 2 ** 20)} MiB of answers a second, of an account with half of ${usage} rows.`,
    `\`npm run bench:console -- --rounds ${rounds} --usage ${usage} --rate ${rate}${given}\`, Node ${process.version}, ${os.cpus().length} cores.`,
  ].join('\n')
}

const books = await watchedBooks(usage)
const upstream = await startUpstream()
const running: { stop(): Promise<void> }[] = [upstream]
try {
  const subject = await startProbed({ name: GATEWAY, root: ROOT }, upstream.port, {
    store: books.store,
    secret: SECRET,
    ...(values['export-rate'] === undefined ? {} : { export_rate: values['export-rate'] }),
  })
  running.unshift(subject)
  const seen: Seen = { reports: 0, files: 0, bytes: 0 }
  await measure(subject, SECONDS)
  await watched(subject, books, { ...seen })
  const [alone, beside]: [Round[], Round[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    alone.push(await measure(subject, SECONDS))
    beside.push(await watched(subject, books, seen))
  }
  const text = report(alone, beside, seen)
  console.log(text)
  if (values.write) {
    const page = path.join(ROOT, 'docs/performance.md')
    writeFileSync(page, replaceBlock(readFileSync(page, 'utf8'), 'console-load', text))
  }
} finally {
  await stopAll(running)
  books.remove()
}
