// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how our YAML files name variables
import t from 'tap'
import { ConfigError, formatPath, Source } from '../../lib/config/yaml.ts'

const ENV = { SET: 'value', EMPTY: '', SECRET: 'hunter2' }

const problemsOf = (work: () => unknown): readonly string[] => {
  try {
    work()
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems
  }
}

t.test('variables', async t => {
  for (const [text, expected] of [
    ['${SET}', 'value'],
    ['a ${SET} b ${SET}', 'a value b value'],
    ['${SET:-other}', 'value'],
    ['${EMPTY}', ''],
    ['${EMPTY:-other}', 'other'],
    ['${UNSET:-other}', 'other'],
    ['${UNSET:-}', ''],
    ['${UNSET:-http://a:1/b}', 'http://a:1/b'],
    ['$${SET}', '${SET}'],
    ['$SET $', '$SET $'],
  ] as const) {
    t.same(new Source(`a: '${text}'`, 'f', ENV).value, { a: expected }, text)
  }
  t.same(new Source('a: ${SET:-x y}\nb: [1, "${SET}"]', 'f', ENV).value, { a: 'value', b: [1, 'value'] }, 'unquoted')
  t.same(new Source('${SET}: 1', 'f', ENV).value, { '${SET}': 1 }, 'keys stay as they are')
})

t.test('a variable that cannot be filled in', async t => {
  const problems = problemsOf(() => new Source('a:\n  - b: x${UNSET}\nc: ${1 + 1}', 'f.yaml', ENV).throwProblems())
  t.same(problems, [
    'f.yaml:2:8: a[0].b: expected the environment variable UNSET to be set, found "x${UNSET}"',
    'f.yaml:3:4: c: expected a variable as ${NAME}, ${NAME:-default} or ${file:PATH}, found "${1 + 1}"',
  ])
})

t.test('values', async t => {
  for (const [text, expected] of [
    ['', {}],
    ['# nothing', {}],
    ['a:\nb: ~\nc: 0', { c: 0 }],
    ['a: &x [1, 2]\nb: *x', { a: [1, 2], b: [1, 2] }],
    ['{"a": "b"}', { a: 'b' }],
    ['__proto__: {polluted: 1}', JSON.parse('{"__proto__": {"polluted": 1}}')],
  ] as const) {
    t.same(new Source(text, 'f', ENV).value, expected, JSON.stringify(text))
  }
  t.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
})

t.test('no YAML: file and place', async t => {
  for (const [text, expected] of [
    ['a: [', /^f\.yaml:1:\d+: expected YAML: /],
    ['a: 1\na: 2', /^f\.yaml:2:1: expected YAML: Map keys must be unique$/],
    ['a: 1\n---\nb: 1', /^f\.yaml:\d:\d+: expected YAML: .*documents/],
    ['a: "', /^f\.yaml:1:\d+: expected YAML: /],
  ] as const) {
    const problems = problemsOf(() => new Source(text, 'f.yaml', ENV))
    t.match(problems[0], expected, text)
    t.equal(
      problems.every(line => !line.includes('\n')),
      true,
    )
  }
})

t.test('a problem shows what is written, never what the environment or a credential holds', async t => {
  const source = new Source(
    'a: ${SECRET}\nb: mysql://u:hunter2@h/d\nc: sk-hunter2\nd: {}\ne: [1]\nf: 12\ng: true\nh: hunter2\n',
    'f',
    ENV,
  )
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) source.problem([key], 'x')
  source.problem(['h'], 'x', { hidden: true })
  source.problem(['d', 'gone'], 'x')
  source.problem(['e'], 'y', { atKey: true })
  t.same(
    problemsOf(() => source.throwProblems()),
    [
      'f:1:4: a: expected x, found "${SECRET}"',
      'f:2:4: b: expected x, found "mysql://…@h/d"',
      'f:3:4: c: expected x, found a text (not shown: it may be a secret)',
      'f:4:4: d: expected x, found a map',
      'f:4:4: d.gone: expected x, found nothing',
      'f:5:1: e: expected y, found "e"',
      'f:5:4: e: expected x, found a list',
      'f:6:4: f: expected x, found 12',
      'f:7:4: g: expected x, found true',
      'f:8:4: h: expected x, found something else (not shown: a secret)',
    ],
  )
})

t.test('nesting and aliases that never end', async t => {
  const deep = `a: ${'['.repeat(100)}${']'.repeat(100)}`
  t.match(problemsOf(() => new Source(deep, 'f', ENV).throwProblems())[0], /expected less nesting/)
  t.match(problemsOf(() => new Source('a: &x [*x]', 'f', ENV).throwProblems())[0], /expected less nesting/)
})

t.test('aliases that multiply', async t => {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
  for (let i = 1; i < 12; i++)
    lines.push(
      `a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(', ')}]`,
    )
  t.match(problemsOf(() => new Source(lines.join('\n'), 'f', ENV).throwProblems())[0], /expected fewer values/)
})

t.test('paths', async t => {
  t.equal(formatPath(['channels', 0, 'models', 'beta-4.7', 'x-y']), 'channels[0].models["beta-4.7"].x-y')
  t.equal(formatPath([]), '')
})
