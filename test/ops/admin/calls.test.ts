/** docs/admin.md lists the calls of the admin API: each that there is, no other, and with its status. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { Admin, type AdminDeps } from '../../../lib/ops/admin.ts'

const read = (file: string): string => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')

/** Whatever the parameters are called. */
const named = (path: string): string => path.replace(/\{\w+\}/g, '*')

const NAMES: Record<string, string[]> = { kind: ['groups', 'models', 'channels'], format: ['csv', 'jsonl'] }

/** The routes as the code writes them, with the statuses that each answers when all is well. */
function routes(): string[] {
  const tables = [
    ['lib/ops/admin.ts', 'const routes: Route[] = ['],
    ['lib/ops/pay-routes.ts', 'return ['],
  ] as const
  const parts = tables.flatMap(([file, begin]) => {
    const table = read(file)
      .split(begin)[1]!
      .split(/\n {2}\}\n|\n\}\n/)[0]!
    return table.split(/\broute\(/).slice(1)
  })
  return parts.flatMap(part => {
    const call = /^['`]([^'`]+)['`]/.exec(part)![1]!
    const statuses: [mark: string, statuses: string][] = [
      ['created(', '201'],
      ['once(', '201 200'],
      ['NO_CONTENT', '204'],
      ['gone(', '200 410'],
    ]
    const status = statuses.find(([mark]) => part.includes(mark))?.[1] ?? '200'
    const name = /\$\{(\w+)\}/.exec(call)?.[1]
    return (NAMES[name ?? ''] ?? ['']).map(one => `${named(call.replace(/\$\{\w+\}/, one))} ${status}`)
  })
}

const rows = [...read('docs/admin.md').matchAll(/^\| `([A-Z]+) (\S+)` \|.*\| (.*) \|$/gm)].map(
  ([, method, path, answer]) => ({
    method: method!,
    path: path!,
    statuses: [...answer!.matchAll(/\b(20\d|410)\b/g)].map(found => found[1]),
  }),
)

t.test('the page lists every call, and no other', async t => {
  const listed = rows.map(({ method, path, statuses }) => `${method} ${named(path)} ${statuses.join(' ')}`)
  t.ok(listed.length > 30)
  t.same(listed.sort(), routes().sort())
})

t.test('every call of the page leads somewhere', async t => {
  const admin = new Admin({} as AdminDeps)
  for (const { method, path } of rows) t.ok(admin.find(method, path.replace(/\{\w+\}/g, '7')), `${method} ${path}`)
})
