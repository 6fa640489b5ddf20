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
import { startProbed, stopAll } from './kinds/context.ts'
import { besideTable, type Round, round } from './parts/beside.ts'
import { type Seen, type WatchedBooks, watch, watchedBooks } from './parts/console-watch.ts'
import type { Probed } from './parts/probed.ts'
import { ROOT, startUpstream } from './parts/subjects.ts'
import { replaceBlock } from './report/doc-block.ts'
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
/** Where there are users, a gateway needs one of its own. */
const SECRET = 'a-secret-of-the-bench'

/** A round with somebody on the console. */
async function watched(subject: Probed, books: WatchedBooks, seen: Seen): Promise<Round> {
  const stop = watch(subject, books, values.only)
  try {
    return await round(subject, rate, SECONDS)
  } finally {
    const more = await stop()
    for (const name of ['reports', 'files', 'bytes'] as const) seen[name] += more[name]
  }
}

function report(alone: Round[], beside: Round[], seen: Seen): string {
  const given = (['export-rate', 'only'] as const)
    .map(name => (values[name] === undefined ? '' : ` --${name} ${values[name]}`))
    .join('')
  const perS = (count: number) => (count / rounds / SECONDS).toFixed(1)
  return [
    ...besideTable(alone, beside, 'nobody on the console', 'reports and an export'),
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
  await round(subject, rate, SECONDS)
  await watched(subject, books, { ...seen })
  const [alone, beside]: [Round[], Round[]] = [[], []]
  for (let i = 0; i < rounds; i++) {
    alone.push(await round(subject, rate, SECONDS))
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
