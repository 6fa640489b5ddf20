/**
 * `npm run bench:account [-- --usage ROWS --keys KEYS --settlements N --engine sqlite|mariadb --write]`: times what the
 * console reads of one account that has nearly all rows and thousands of keys, which is the worst case for its pages, and
 * how fast settlements go into such books. For MariaDB it starts a private server. --write puts the figures into
 * docs/performance.md.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { startMariadb } from '../test/support/mariadb.ts'
import { scriptOptions } from '../test/support/script.ts'
import { measureAccount, measureExport } from './parts/account-reads.ts'
import { openLargeBooks } from './parts/account-store.ts'
import { likeADeployment } from './parts/deployment.ts'
import { fillUsage } from './parts/store-fill.ts'
import { measureSettling } from './parts/store-settle.ts'
import { ROOT } from './parts/subjects.ts'
import { replaceBlock } from './report/doc-block.ts'

const values = scriptOptions(import.meta.filename, {
  usage: { type: 'string', default: '200000' },
  keys: { type: 'string', default: '1000' },
  settlements: { type: 'string', default: '20000' },
  engine: { type: 'string' },
  write: { type: 'boolean', default: false },
})
const [usage, keys, settlements] = [Number(values.usage), Number(values.keys), Number(values.settlements)]
/** Keys that the settlements are of: some hundred are busy at a time. */
const BUSY = 200

const folder = mkdtempSync(path.join(os.tmpdir(), 'bench-account-'))
const ENGINES: Record<string, () => Promise<{ url: string; close: () => Promise<unknown> }>> = {
  sqlite: async () => ({ url: `sqlite:${folder}/books.db`, close: async () => {} }),
  mariadb: async () => {
    const server = await startMariadb()
    await likeADeployment(server)
    return { url: server.url, close: () => server.stop() }
  },
}

async function measure(engine: string): Promise<string> {
  const { url, close } = await (ENGINES[engine] as (typeof ENGINES)[string])()
  const books = await openLargeBooks(url, keys)
  try {
    const seconds = await fillUsage(url, { ...books, keys: [...books.own, ...books.keys] }, usage)
    console.log(`${engine}: ${usage} rows made in ${seconds.toFixed(0)} s`)
    const figures = await measureAccount(books, usage)
    const exported = await measureExport(books)
    const busy = { ...books, keys: [...books.own.slice(0, BUSY), ...books.keys] }
    const settled = settlements > 0 ? (await measureSettling(busy, settlements)).perSecond : null
    return [
      '| what | ms, median | ms, longest | target |',
      '|---|---|---|---|',
      ...figures.map(({ what, p50, max, target }) => `| ${what} | ${p50.toFixed(1)} | ${max.toFixed(1)} | ${target} |`),
      '',
      `CSV: ${exported.toFixed(0)} rows a second.${settled === null ? '' : ` Settled: ${settled.toFixed(0)} a second.`}`,
      `\`npm run bench:account -- --engine ${engine} --usage ${usage} --keys ${keys}\`, Node ${process.version}, ${os.cpus().length} cores.`,
    ].join('\n')
  } finally {
    await books.store.close()
    await close()
  }
}

try {
  for (const engine of Object.keys(ENGINES).filter(name => values.engine === undefined || name === values.engine)) {
    const report = await measure(engine)
    console.log(report)
    if (!values.write) continue
    const page = path.join(ROOT, 'docs/performance.md')
    writeFileSync(page, replaceBlock(readFileSync(page, 'utf8'), `account-${engine}`, report))
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
