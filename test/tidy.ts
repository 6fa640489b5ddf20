/** `npm run tidy`: what the formatter and the compiler do not see. Prints what is wrong and exits 1. */
import { readdirSync, readFileSync } from 'node:fs'

const problems: string[] = []
const files = ['lib', 'web', 'tools', 'bench', 'test'].flatMap(dir =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter(f => f.endsWith('.ts'))
    .map(f => `${dir}/${f}`),
)
for (const file of files) {
  const text = readFileSync(file, 'utf8')
  for (const [pattern, what] of [
    [/\b(TODO|FIXME|XXX)\b/, 'unfinished work'],
    [/\b(test|t)\.(skip|only|todo)\b/, 'a test that does not run'],
    [/^(<<<<<<<|>>>>>>>) /m, 'leftovers of a merge'],
    [/\bconsole\.log\b/, 'console.log'],
    [/\bany\b(?=[\],;)>\s]*[=;,)])(?<=: any\b.*)/, 'an any'],
  ] as const) {
    if (what === 'console.log' && /^(test|bench)\//.test(file)) continue
    if (
      file === 'test/tidy.ts' ||
      (what === 'console.log' && /^(lib\/(cli|process\/demo|console\/programs)|tools\/)/.test(file))
    )
      continue
    if (pattern.test(text)) problems.push(`${file}: ${what}`)
  }
}
for (const folder of ['', 'test/clients/']) {
  if (readFileSync(`${folder}package-lock.json`, 'utf8').includes('"resolved"'))
    problems.push(`${folder}package-lock.json names a registry: keep omit-lockfile-registry-resolved in .npmrc`)
  const { dependencies, devDependencies } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8')) as Record<
    string,
    Record<string, string>
  >
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    if (!/^\d+\.\d+\.\d+$/.test(version)) problems.push(`${folder}package.json: ${name} is not pinned to one version`)
  }
}
for (const problem of problems) console.error(problem)
console.error(problems.length === 0 ? 'tidy' : `${problems.length} to tidy`)
process.exit(problems.length === 0 ? 0 : 1)
