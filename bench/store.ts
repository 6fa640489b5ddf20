/**
 * `npm run bench:store [-- --settlements N --usage ROWS --engine sqlite|mariadb]`: measures how fast settlements reach
 * the books, and how long a page of the usage log takes when there are many rows (--usage 10000000 for 10 million). For
 * MariaDB it starts a private server that syncs the disk at each commit.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { startMariadb } from '../test/support/mariadb.ts'
import { scriptOptions } from '../test/support/script.ts'
import { likeADeployment } from './parts/deployment.ts'
import { fillUsage } from './parts/store-fill.ts'
import { measureReads } from './parts/store-pages.ts'
import { measurePruning } from './parts/store-prune.ts'
import { openBooks } from './parts/store-rows.ts'
import { measureCommits, measureSettling } from './parts/store-settle.ts'
import { measureStalls } from './parts/store-stalls.ts'
import { ROOT } from './parts/subjects.ts'

const values = scriptOptions(import.meta.filename, {
  settlements: { type: 'string', default: '100000' },
  usage: { type: 'string', default: '200000' },
  engine: { type: 'string' },
})
const settlements = Number(values.settlements)
const usageRows = Number(values.usage)
const COMMITS = 500
const lines: string[] = []
const print = (line: string) => {
  console.log(line)
  lines.push(line)
}

const ms = (value: number) => `${value.toFixed(0)} ms`

const folder = mkdtempSync(path.join(os.tmpdir(), 'bench-store-'))
const engines: [name: string, open: () => Promise<{ url: string; close: () => Promise<unknown> }>][] = [
  ['sqlite', async () => ({ url: `sqlite:${folder}/books.db`, close: async () => {} })],
  [
    'mariadb',
    async () => {
      const server = await startMariadb()
      await likeADeployment(server)
      return { url: server.url, close: () => server.stop() }
    },
  ],
]

try {
  for (const [name, open] of engines.filter(([name]) => values.engine === undefined || name === values.engine)) {
    const { url, close } = await open()
    const books = await openBooks(url)
    try {
      print(`## ${name}\n`)
      if (settlements > 0) {
        const { perSecond, cpuUs, stallMs } = await measureSettling(books, settlements)
        const commit = await measureCommits(books, COMMITS)
        print(`Commits one after the other: ${commit.p50.toFixed(2)} ms each, ${commit.max.toFixed(1)} ms at most.\n`)
        print('| settlements | a second | CPU µs of all threads, each | longest stall of the event loop, ms |')
        print('|---|---|---|---|')
        print(`| ${settlements} | ${perSecond.toFixed(0)} | ${cpuUs.toFixed(1)} | ${stallMs.toFixed(1)} |\n`)
      }
      const stalls = await measureStalls(url)
      print(
        '| a gateway under load, requests a second | longest stall, ms | of a hundred, the worst | longest of its parts, ms |',
      )
      print('|---|---|---|---|')
      const parts = Object.entries(stalls.longest).map(([name, took]) => `${name} ${took.toFixed(1)}`)
      print(
        `| ${stalls.perSecond.toFixed(0)} | ${stalls.max.toFixed(1)} | ${stalls.p99.toFixed(1)} | ${parts.join(', ')} |\n`,
      )
      if (usageRows > 0) {
        const seconds = await fillUsage(url, books, usageRows)
        print(`${usageRows} more usage rows, made in ${seconds.toFixed(0)} s.\n`)
        const { pages, summaries, exportedPerSecond } = await measureReads(url, books)
        for (const [what, figures] of [
          ['page of the usage log', pages],
          ['totals', summaries],
        ] as const) {
          print(`| ${what} | ms, median | ms, longest |`)
          print('|---|---|---|')
          for (const { page, p50, max } of figures) print(`| ${page} | ${p50.toFixed(1)} | ${max.toFixed(1)} |`)
          print('')
        }
        print(`Export as CSV: ${exportedPerSecond.toFixed(0)} rows a second.`)
        const prune = await measurePruning(books)
        print(
          `\nRetention: ${prune.rows} rows deleted in slices of 1000, ${ms(prune.p50)} each, ${ms(prune.max)} at most;`,
        )
        print(`then an audit of the whole log, true, in ${ms(prune.auditMs)}.`)
        if (settlements > 0) {
          const { perSecond } = await measureSettling(books, settlements, 1)
          print(`\nSettling into so many rows: ${perSecond.toFixed(0)} a second.`)
        }
        print('')
      }
    } finally {
      await books.store.close()
      await close()
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
print(`Node ${process.version}, ${os.cpus().length} × ${os.cpus()[0]?.model ?? 'cpu'}.`)
mkdirSync(path.join(ROOT, 'data'), { recursive: true })
writeFileSync(path.join(ROOT, 'data/bench-store.md'), `${lines.join('\n')}\n`)
