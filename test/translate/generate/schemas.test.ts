import t from 'tap'
import { cleaned, parametersOf } from '../../../lib/translate/generate/schema.ts'

const TABLE: [what: string, schema: object, cleaned: object][] = [
  [
    'words that are not known',
    {
      $schema: 'x',
      type: 'object',
      properties: { pattern: { type: 'string', pattern: '^a', minLength: 1, default: 'x', description: 'd' } },
      required: ['pattern', 'nobody'],
      additionalProperties: false,
      patternProperties: { a: {} },
      propertyNames: { pattern: 'x' },
    },
    {
      type: 'object',
      properties: { pattern: { type: 'string', description: 'd' } },
      required: ['pattern'],
      additionalProperties: false,
    },
  ],
  [
    'bounds',
    { type: 'number', exclusiveMinimum: 1, exclusiveMaximum: 9, maximum: 8, multipleOf: 2 },
    { type: 'number', minimum: 1, maximum: 8 },
  ],
  ['one value', { const: 'x' }, { enum: ['x'] }],
  ['values', { enum: ['a', 1, null, true, {}] }, { enum: ['a', 1] }],
  [
    'several types',
    { type: ['string', 'array', 'null'], description: 'd', items: { type: 'string' }, enum: ['a'] },
    {
      description: 'd',
      anyOf: [{ type: 'string', enum: ['a'] }, { type: 'array', items: { type: 'string' } }, { type: 'null' }],
    },
  ],
  ['an array of anything', { type: 'array' }, { type: 'array', items: {} }],
  ['a tuple', { type: 'array', items: [{ type: 'string' }] }, { type: 'array', prefixItems: [{ type: 'string' }] }],
  [
    'all of them',
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
        { properties: { b: { type: 'number' } }, required: ['b'] },
      ],
    },
    { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } }, required: ['a', 'b'] },
  ],
  [
    'references, alone and with words beside them',
    {
      definitions: { x: { type: 'string', pattern: 'x' }, unused: { type: 'number' } },
      type: 'object',
      properties: {
        a: { $ref: '#/definitions/x' },
        b: { $ref: '#/definitions/x', description: 'd' },
        c: { $ref: '#/definitions/x', enum: ['q'] },
        d: { $ref: '#/properties/c' },
        e: { $ref: 'https://example.test/' },
      },
    },
    {
      type: 'object',
      properties: {
        a: { $ref: '#/$defs/x' },
        b: { description: 'd', anyOf: [{ $ref: '#/$defs/x' }] },
        c: { type: 'string', enum: ['q'] },
        d: { type: 'string', enum: ['q'] },
        e: {},
      },
      $defs: { x: { type: 'string' } },
    },
  ],
  [
    'a reference to itself, and one at the top',
    { $defs: { n: { type: 'object', properties: { next: { $ref: '#/$defs/n' } } } }, $ref: '#/$defs/n' },
    {
      type: 'object',
      properties: { next: { $ref: '#/$defs/n' } },
      $defs: { n: { type: 'object', properties: { next: { $ref: '#/$defs/n' } } } },
    },
  ],
]

for (const [what, schema, expected] of TABLE)
  t.test(what, async t => {
    t.strictSame(JSON.parse(cleaned(JSON.stringify(schema), 'x')), expected)
    t.equal(cleaned(JSON.stringify(schema), 'x'), cleaned(JSON.stringify(schema), 'x'), 'the same again')
  })

t.test('numbers stay as they stand', async t => {
  t.match(
    cleaned('{"type":"number","minimum":1.0,"maximum":12345678901234567890}', 'x'),
    /1\.0,"maximum":12345678901234567890/,
  )
})

t.test('references that would grow without an end are refused by name, at once', async t => {
  const properties = Object.fromEntries([...'abcdefgh'].map(name => [name, { $ref: '#/$defs/n', type: 'object' }]))
  const bomb = JSON.stringify({ type: 'object', properties, $defs: { n: { type: 'object', properties } } })
  t.throws(() => parametersOf(bomb, 'my tool'), { message: 'tools.my_tool cannot be translated' })
  const chain = JSON.stringify({
    $ref: '#/$defs/a',
    type: 'object',
    $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
  })
  t.doesNotThrow(() => cleaned(chain, 'x'))
})

t.test('deep and large schemas', async t => {
  const deep = `${'{"type":"array","items":'.repeat(400)}{}${'}'.repeat(400)}`
  t.doesNotThrow(() => JSON.parse(cleaned(deep, 'x')))
  t.throws(() => cleaned(`{"description":"${'x'.repeat(2 ** 20)}"}`, 'tools.f'), {
    message: 'tools.f cannot be translated',
  })
})

t.test('arguments of which nothing is said are left out', async t => {
  t.equal(parametersOf('{"type":"object","properties":{}}', 'f').schema, null)
  t.equal(parametersOf(null, 'f').schema, null)
  t.same(JSON.parse(parametersOf('{"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}', 'f').schema ?? ''), {
    type: 'object',
    properties: { a: {}, b: {} },
  })
})
