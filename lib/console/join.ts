/**
 * Joins the modules of pages into few files, so that a page needs few requests: one file with what starts every page and what many
 * pages use, one for each page, and one for each module that is loaded later. A module becomes a function that is called once and
 * returns its exports, in the order in which a browser would have run the modules. That is right as long as no module imports itself in
 * a circle and no export changes later; what this file cannot join, it refuses.
 */

/** A module as it is read: TypeScript whose types are stripped, or a package's file. */
export interface Module {
  code: string
  /** What it imports, by the names of modules. `late`: when it is needed, by `import('…')`. */
  imports: readonly Imported[]
}

export interface Imported {
  /** What stands in the code. */
  specifier: string
  /** The name of the module that is meant. */
  at: string
  late: boolean
}

type Modules = ReadonlyMap<string, Module>
type Imports = ReadonlyMap<string, Pick<Module, 'imports'>>

const STATEMENT =
  /(?<=^|[;}\n])[ \t]*(?:import\s*(?:(?<names>\{[^}]*\})\s*from\s*)?["'](?<from>[^"']+)["']|export\s*(?<out>\{[^}]*\})(?:\s*from\s*["'](?<through>[^"']+)["'])?);?/g
const DECLARED = /^export (?=(?:async )?(?:const|function|class) +(\w+))/gm
const DEFAULT = /^export default (?=(?:async )?(?:function|class) *(\w*)|)/m
const UNJOINABLE = /^(?:export let|export \*|import \*|import \w)/m

export interface FilePlan {
  /** The modules of each file, each after those that it imports. */
  files: Map<string, string[]>
  /** The file of the modules that several files use. */
  shared: string
}

/** The file of a module: where it stands, with the name that browsers run. */
export const scriptOf = (module: string): string => module.replace(/\.ts$/, '.js')

/**
 * Which module stands in which file. In a document each module runs once, so one that could come by two ways, with a page and with
 * something that is loaded later, stands in the file that all have.
 */
export function planOf(modules: Imports, entry: string, pages: readonly string[], many: number): FilePlan {
  const later = [...new Set([...modules.values()].flatMap(({ imports }) => imports.filter(({ late }) => late)))]
  const lateRoots = [...new Set(later.map(({ at }) => at))].filter(at => !pages.includes(at))
  const ofAll = closureOf(modules, entry)
  const users = new Map<string, { pages: number; late: number }>()
  for (const [roots, kind] of [
    [pages, 'pages'],
    [lateRoots, 'late'],
  ] as const)
    for (const root of roots)
      for (const name of closureOf(modules, root)) {
        const count = users.get(name) ?? { pages: 0, late: 0 }
        count[kind]++
        users.set(name, count)
      }
  const isShared = (name: string): boolean => {
    const { pages: inPages, late } = users.get(name) ?? { pages: 0, late: 0 }
    return ofAll.has(name) || inPages >= many || late > 1 || (late === 1 && inPages > 0)
  }
  const shared = scriptOf(entry)
  const all = new Set<string>()
  for (const [name] of users) if (isShared(name)) for (const inner of closureOf(modules, name)) all.add(inner)
  for (const name of ofAll) all.add(name)
  const inOrder = [...closureOf(modules, ...all)].filter(name => name !== entry)
  const files = new Map([[shared, [...inOrder, entry]]])
  for (const root of [...pages, ...lateRoots])
    files.set(
      scriptOf(root),
      [...closureOf(modules, root)].filter(name => !all.has(name)),
    )
  return { files, shared }
}

/** What the modules need before they can run, each after those that it imports. */
function closureOf(modules: Imports, ...roots: readonly string[]): Set<string> {
  const found = new Set<string>()
  const open = new Set<string>()
  const visit = (name: string) => {
    if (found.has(name)) return
    if (open.has(name)) throw new Error(`${name} imports itself in a circle`)
    open.add(name)
    for (const { at, late } of modules.get(name)?.imports ?? []) if (!late) visit(at)
    open.delete(name)
    found.add(name)
  }
  for (const root of roots) visit(root)
  return found
}

/** The text of a file of the plan. `addressOf`: where a browser finds a file. */
export function joinedText(
  file: string,
  plan: FilePlan,
  modules: Modules,
  addressOf: (file: string) => string,
): string {
  const names = plan.files.get(file) as string[]
  const number = numbersOf(modules)
  const isShared = file === plan.shared
  const parts = names.map(name => wrapped(name, modules.get(name) as Module, number, addressOf, isShared))
  const own = new Set(names)
  const root = [...modules.keys()].find(name => scriptOf(name) === file) as string
  const needed = new Set(
    [...names.flatMap(name => modules.get(name)?.imports.filter(({ late }) => !late) ?? []), { at: root }]
      .map(({ at }) => at)
      .filter(at => !own.has(at)),
  )
  const list = (from: Iterable<string>) => [...from].map(name => number(name)).join(',')
  const head = needed.size === 0 ? '' : `import{${list(needed)}}from'${addressOf(plan.shared)}'\n`
  return head + parts.join('') + (isShared ? `export{${list(names.slice(0, -1))}}\n` : exportsOf(root, modules, number))
}

/** What a file that is loaded by its name gives: the exports of its module. */
function exportsOf(root: string, modules: Modules, number: (name: string) => string): string {
  const { exported } = rewritten(root, modules.get(root) as Module, number, name => name)
  const lines = [...exported.keys()].map(name =>
    name === 'default' ? `export default ${number(root)}.default` : `export const ${name}=${number(root)}.${name}`,
  )
  return `${lines.join('\n')}\n`
}

function numbersOf(modules: Modules): (name: string) => string {
  const all = [...modules.keys()].sort()
  return name => `$${all.indexOf(name)}`
}

/** A module as a function. The one that starts a page waits for other files, so nobody waits for it. */
function wrapped(
  name: string,
  module: Module,
  number: (name: string) => string,
  addressOf: (file: string) => string,
  mayStart: boolean,
): string {
  const { code, exported } = rewritten(name, module, number, addressOf)
  const isStart = mayStart && /^(?:const .*= )?await /m.test(code)
  if (isStart) return `(async()=>{\n${code}\n})();\n`
  const all = [...exported].map(([out, inner]) => (out === inner ? out : `${out}:${inner}`)).join(',')
  return `const ${number(name)}=(()=>{\n${code}\nreturn{${all}}})();\n`
}

/** The code without imports and exports. `exported`: what stands for each export. */
function rewritten(
  name: string,
  { code, imports }: Module,
  number: (name: string) => string,
  addressOf: (file: string) => string,
): { code: string; exported: Map<string, string> } {
  if (UNJOINABLE.test(code)) throw new Error(`${name} has an import or export that cannot be joined`)
  const exported = new Map<string, string>()
  const moduleOf = (specifier: string): string => {
    const found = imports.find(other => other.specifier === specifier)
    if (found === undefined) throw new Error(`${name}: nobody knows ${specifier}`)
    return number(found.at)
  }
  let text = code.replace(STATEMENT, (...args) => {
    const { names, from, out, through } = args.at(-1) as Record<string, string | undefined>
    if (from !== undefined) return names === undefined ? '' : `const${pairs(names, ':')}=${moduleOf(from)};`
    for (const [inner, outer] of named(out as string))
      exported.set(outer, through === undefined ? inner : `${moduleOf(through)}.${inner}`)
    return ''
  })
  text = text.replace(DECLARED, (_, declared: string) => {
    exported.set(declared, declared)
    return ''
  })
  text = text.replace(DEFAULT, (_, declared = '') => {
    exported.set('default', declared === '' ? '$default' : declared)
    return declared === '' ? 'const $default = ' : ''
  })
  text = text.replaceAll('import.meta.url', `(location.origin+'${addressOf(name)}')`)
  for (const { specifier, at, late } of imports)
    if (late) text = text.replaceAll(`import('${specifier}')`, `import('${addressOf(scriptOf(at))}')`)
  text = text.replace(
    /import\(`\.\/pages\/(\$\{[\w.]+\})\.ts`\)/g,
    (_, page: string) => `import(\`${addressOf('pages/')}${page}.js\`)`,
  )
  return { code: compact(text), exported }
}

const named = (braces: string): [string, string][] =>
  braces
    .slice(1, -1)
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
    .map(part => part.split(/\s+as\s+/))
    .map(([inner, outer = inner]) => [inner as string, outer as string])

const pairs = (braces: string, between: string): string =>
  `{${named(braces)
    .map(([inner, outer]) => (inner === outer ? inner : `${inner}${between}${outer}`))
    .join(',')}}`

/** Types leave blanks behind, and comments are for who reads the source. */
const compact = (text: string): string =>
  text
    .replaceAll(/^\/\*\*?[\s\S]*?\*\/\n/gm, '')
    .replaceAll(/[ \t]+$/gm, '')
    .replaceAll(/\n{2,}/g, '\n')
    .trim()
