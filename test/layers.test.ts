import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'

const ROOT = path.resolve(import.meta.dirname, '..')

/** From the ground up: a file may import from its own layer and from those named here before it. */
const LAYERS: [name: string, matches: RegExp][] = [
  ['base', /^lib\/base\//],
  ['terms', /^lib\/terms\//],
  ['engines', /^lib\/(store|ledger|access|channels|pricing)\//],
  ['protocols', /^lib\/protocols\//],
  ['upstream', /^lib\/upstream\//],
  ['exchange', /^lib\/exchange\//],
  ['operations', /^lib\/operations\//],
  ['edges', /^lib\/(public|ops|console|simulator)\//],
  ['process', /^lib\/process\//],
  ['command line', /^lib\/cli(\.ts$|\/)/],
]
/** Engines that must not know each other in the other direction. */
const FORBIDDEN: [from: RegExp, to: RegExp, why: string][] = [
  [/^lib\/store\//, /^lib\/(ledger|access|channels|pricing)\//, 'the store knows no engine above it'],
  [/^lib\/(access|channels|pricing)\//, /^lib\/ledger\//, 'only stages bring the ledger and the others together'],
  [
    /^lib\/protocols\//,
    /^lib\/(store|ledger|access|channels|pricing)\//,
    'protocols know nothing of money, keys or channels',
  ],
  [/^lib\/(store|ledger|access|channels|pricing)\//, /^lib\/protocols\//, 'engines know nothing of protocols'],
  [/^lib\/(store|ledger|access|channels|pricing)\//, /^node:https?2?$/, 'engines know nothing of HTTP'],
  [/^lib\/operations\//, /^node:https?2?$/, 'operations know nothing of HTTP'],
  [
    /^lib\/operations\//,
    /^lib\/(access|channels|pricing|protocols|upstream|exchange)\//,
    'operations work on the store, not on requests',
  ],
  [/^lib\//, /^(test|bench)\//, 'the product does not need its tests'],
]

/** Files that know each other in circles, by their types alone: no others may come, and those that are untied leave the list. */
const TIED: Record<string, string> = {
  exchange:
    'affinity attempts client deadlines exchange finish growth plan reading refuse relay settle upstream-request',
  'exchange/stages': 'candidates count',
  simulator: 'handler reply',
}

const files = readdirSync(path.join(ROOT, 'lib'), { recursive: true, encoding: 'utf8' })
  .filter(f => f.endsWith('.ts'))
  .map(f => `lib/${f}`)
const layerOf = (file: string) => LAYERS.findIndex(([, matches]) => matches.test(file))

function importsOf(file: string): string[] {
  const text = readFileSync(path.join(ROOT, file), 'utf8')
  const found = [...text.matchAll(/(?:from\s+|import\(\s*|^import\s+)'([^']+)'/gm)].map(m => m[1] as string)
  return found.map(f => (f.startsWith('.') ? path.posix.normalize(path.posix.join(path.posix.dirname(file), f)) : f))
}

t.test('every file has a layer, and imports point down', async t => {
  t.ok(files.length > 40)
  for (const file of files) {
    t.not(layerOf(file), -1, `${file} belongs to a layer`)
    for (const target of importsOf(file)) {
      if (!target.startsWith('lib/')) continue
      t.ok(layerOf(target) <= layerOf(file), `${file} imports ${target}, which is above it`)
    }
    for (const [from, to, why] of FORBIDDEN) {
      if (from.test(file))
        t.notOk(
          importsOf(file).find(target => to.test(target)),
          `${file}: ${why}`,
        )
    }
  }
})

t.test('no file imports itself in a circle at run time', async t => {
  const graph = new Map(files.map(f => [f, valueImports(f)]))
  const done = new Set<string>()
  const visit = (file: string, trail: string[]): void => {
    if (trail.includes(file)) t.fail(`circle: ${[...trail.slice(trail.indexOf(file)), file].join(' → ')}`)
    else if (!done.has(file)) {
      for (const next of graph.get(file) ?? []) visit(next, [...trail, file])
      done.add(file)
    }
  }
  for (const file of files) visit(file, [])
  t.ok(files.every(file => done.has(file)))
})

t.test('no new circle of types', t => {
  const graph = new Map(files.map(f => [f, importsOf(f)]))
  const reaches = (from: string, seen = new Set<string>()): Set<string> => {
    for (const next of graph.get(from) ?? []) if (graph.has(next) && !seen.has(next)) reaches(next, seen.add(next))
    return seen
  }
  const tied = Object.entries(TIED).flatMap(([dir, names]) => names.split(' ').map(name => `lib/${dir}/${name}.ts`))
  t.same(files.filter(file => reaches(file).has(file)).sort(), tied.sort())
  t.end()
})

/** Without `import type`, which leaves nothing behind. */
function valueImports(file: string): string[] {
  const text = readFileSync(path.join(ROOT, file), 'utf8').replaceAll(/^import type .*$/gm, '')
  return [...text.matchAll(/^(?:import|export)\s+(?:[^'\n]|\n(?!import|export))*?from\s+'(\.[^']+)'/gm)]
    .filter(m => !/^import\s*\{(\s*type \w+,?)+\s*\}/.test(m[0]))
    .map(m => path.posix.normalize(path.posix.join(path.posix.dirname(file), m[1] as string)))
}
