import t from 'tap'
import { flatPrice, readPrice, setPaths } from '../../lib/operations/catalogue/prices.ts'
import { randomPrice } from '../pricing/random-prices.ts'
import { seeded } from '../support/random.ts'

t.test('prices are set and taken away by their paths', async t => {
  const OVER = { tokens: 200_000, input: 4 }
  const rows: [before: object, paths: [string, string | null][], after: object][] = [
    [{}, [['input', '1']], { input: '1' }],
    [{ input: 1 }, [['output', '2.5']], { input: 1, output: '2.5' }],
    [{ input: 1, output: 2 }, [['output', null]], { input: 1 }],
    [{ input: 1 }, [['tiers.geo:us', '1.1']], { input: 1, tiers: { 'geo:us': '1.1' } }],
    [{ input: 1 }, [['tiers.v1.5', '2']], { input: 1, tiers: { 'v1.5': '2' } }],
    [{ input: 1, tiers: { fast: 6 } }, [['tiers.fast', null]], { input: 1 }],
    [{ input: 1, tiers: { fast: 6, flex: 0.5 } }, [['tiers', null]], { input: 1 }],
    [{ image: 0.3 }, [['image.1024x1024/high', '1']], { image: { default: 0.3, '1024x1024/high': '1' } }],
    [{ image: { sizes: { '1x1': 3 } } }, [['image.2x2', '1']], { image: { '1x1': 3, '2x2': '1' } }],
    [{ image: { '1x1': 3 } }, [['image', '1']], { image: '1' }],
    [{ input: 1, over: [OVER] }, [['over.200000.output', '9']], { input: 1, over: [{ ...OVER, output: '9' }] }],
    [
      { input: 1, over: [OVER] },
      [['over.128000.input', '2']],
      { input: 1, over: [{ tokens: 128_000, input: '2' }, OVER] },
    ],
    [{ input: 1, over: [OVER] }, [['over.200000.input', null]], { input: 1 }],
    [{ input: 1, over: [OVER] }, [['over.200000', null]], { input: 1 }],
    [{ input: 1, over: [OVER] }, [['over', null]], { input: 1 }],
  ]
  for (const [before, paths, after] of rows) {
    const kept = structuredClone(before)
    t.same(setPaths(before, paths), after, `${JSON.stringify(before)} with ${JSON.stringify(paths)}`)
    t.same(before, kept, 'the price that was given stays as it is')
  }
})

t.test('paths that mean nothing are refused', async t => {
  for (const path of ['over', 'over.200000', 'over.x.input', 'over.0.input', 'input.output', 'over.9.input.x'])
    t.throws(() => setPaths({}, [[path, '1']]), { message: new RegExp(`^${path}: expected a price like`) }, path)
  t.throws(() => readPrice(setPaths({}, [['inputs', '1']])), { message: /inputs: unknown field/ })
})

t.test('every price is its paths again', async t => {
  const random = seeded(t)
  for (let i = 0; i < 300; i++) {
    const price = randomPrice(random)
    const flat = flatPrice(price)
    const again = flatPrice(readPrice(setPaths({}, flat)))
    if (!t.same([...again].sort(), [...flat].sort())) return
  }
})
