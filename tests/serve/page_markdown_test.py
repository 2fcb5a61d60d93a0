#!/usr/bin/env python3
"""Looks how the page of `lamina serve` shows what models and people write: Markdown as such, and HTML as text.

The exit status is 77 if there is no browser, unless $LAMINA_REQUIRE_CLIENTS is set.
"""

import json
import pathlib
import sys
import tempfile
import unittest

from page import OnThePage
from server import talking

OnThePage.lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()

# All that this one can write is markup.
attacker = talking(pathlib.Path(folder.name) / "attacker")
tokenizer = json.loads((attacker / "tokenizer.json").read_text())
markup = [f"<img/src=x{i}/onerror=document.title='broken'><script>document.title='broken'</script>" for i in range(53)]
tokenizer["model"]["vocab"] = {text: i for i, text in enumerate(markup)}
tokenizer["model"]["unk_token"] = markup[0]
(attacker / "tokenizer.json").write_text(json.dumps(tokenizer))


class Markup(OnThePage):
    models = [attacker]

    def test_of_models_and_people_stays_text(self):
        page = self.open()
        title = page.run("document.title")
        asked = markup[3] + " [click](javascript:document.title='broken') <b>bold</b>"
        self.send(page, asked)
        self.assertEqual(page.text(".message.user .body"), asked)
        self.assertIn("<img/src=x", self.answer(page))
        self.assertEqual(page.run("document.querySelectorAll('#messages :is(img, script, b, iframe, a, style)').length"), 0)
        page.call("Page.reload") # what is kept is no more trusted
        page.wait("document.querySelectorAll('.message').length === 2")
        self.assertEqual(page.run("document.querySelectorAll(':is(#messages, #chats) :is(img, script, b, a)').length"), 0)
        self.assertNotIn("broken", page.run("document.title").split(" – ")[0].replace(asked[:60], ""))
        self.assertNotEqual(page.run("document.title"), "broken")
        self.assertEqual(title, "Lamina")

    def test_cannot_be_made_by_scripts_either(self):
        page = self.open()
        self.assertEqual(page.run("""(() => { try { document.body.innerHTML = "<p>"; return "made"; }
                                     catch (error) { return error.name; } })()"""), "TypeError")

    def test_of_markdown_is_shown(self):
        page = self.open()
        for text, wanted in markdown:
            with self.subTest(text):
                self.assertEqual(page.run(f"""import('/page/markdown.js').then(({{show_markdown}}) => {{
                    const out = document.createElement('div');
                    show_markdown(out, {json.dumps(text)});
                    const rest = /<button.*?<\\/button>| (target|rel|tabindex|role|aria-label)="[^"]*"/g;
                    return out.innerHTML.replace(rest, "");
                }})"""), wanted)

    def test_of_markdown_that_grows_is_that_of_the_whole(self):
        text = "\n\n".join(text for text, _ in markdown)
        page = self.open()
        self.assertTrue(page.run(f"""import('/page/markdown.js').then(({{show_markdown}}) => {{
            const text = {json.dumps(text)}, grown = document.createElement('div'), whole = document.createElement('div');
            for (let i = 0; i <= text.length; i += 3) show_markdown(grown, text.slice(0, i));
            show_markdown(grown, text);
            show_markdown(whole, text);
            return grown.innerHTML === whole.innerHTML;
        }})"""))

    def test_of_markdown_that_nests_without_end_is_shown(self):
        page = self.open()
        for text in [">" * 20000, "- " * 20000, "[" * 20000, "*a " * 20000, "**" * 20000, "`" * 20001 + " ` " * 5000,
                     "[a](" * 5000, "|" * 20000 + "\n" + "|-" * 20000, "1. " * 9999, "~~_*" * 9999]:
            self.assertGreater(page.run(f"""import('/page/markdown.js').then(({{show_markdown}}) => {{
                const out = document.createElement('div');
                show_markdown(out, {json.dumps(text)});
                return out.childNodes.length;
            }})"""), 0)


markdown = [
    ("one\ntwo", "<p>one<br>two</p>"),
    ("# One\n### Three ###", "<h2>One</h2><h4>Three</h4>"),
    ("**bold** *em* ***both*** ~~gone~~ `a*b*c` __b__ _e_",
     "<p><strong>bold</strong> <em>em</em> <strong><em>both</em></strong> <del>gone</del> <code>a*b*c</code> "
     "<strong>b</strong> <em>e</em></p>"),
    ("**bold *em***, 2 * 3 * 4, snake_case_name, \\*no\\*, **open",
     "<p><strong>bold <em>em</em></strong>, 2 * 3 * 4, snake_case_name, *no*, **open</p>"),
    ("``a ` b`` and `<b>`", "<p><code>a ` b</code> and <code>&lt;b&gt;</code></p>"),
    ("[a](https://example.org/x_(y)) [b](javascript:alert) [c](//example.org) [d](data:text/html,x)",
     '<p><a href="https://example.org/x_(y)">a</a> [b](javascript:alert) [c](//example.org) [d](data:text/html,x)</p>'),
    ("See https://example.org/a_b, (http://example.org/c).",
     '<p>See <a href="https://example.org/a_b">https://example.org/a_b</a>, '
     '(<a href="http://example.org/c">http://example.org/c</a>).</p>'),
    ("![cat](https://example.org/cat.png)", '<p><a href="https://example.org/cat.png">cat</a></p>'),
    ('[x](https://example.org/"onmouseover="alert)', '<p><a href="https://example.org/%22onmouseover=%22alert">x</a></p>'),
    ("- a\n- b\n  - c\n  - d\n- e", "<ul><li>a</li><li>b<ul><li>c</li><li>d</li></ul></li><li>e</li></ul>"),
    ("3. a\n4. b\n\ntext", '<ol start="3"><li>a</li><li>b</li></ol><p>text</p>'),
    ("- [x] a\n- [ ] b", '<ul><li class="task"><input type="checkbox" disabled="">a</li>'
                          '<li class="task"><input type="checkbox" disabled="">b</li></ul>'),
    ("1. a\n   ```sh\n   ls\n   ```\n2. b",
     '<ol><li>a<figure class="code"><figcaption><span>sh</span></figcaption><pre><code>ls</code></pre></figure></li>'
     "<li>b</li></ol>"),
    ("> a\n> - b", "<blockquote><p>a</p><ul><li>b</li></ul></blockquote>"),
    ("```html\n<b>&amp;</b>\n\n# no\n```\nafter",
     '<figure class="code"><figcaption><span>html</span></figcaption><pre><code>&lt;b&gt;&amp;amp;&lt;/b&gt;\n\n# no</code>'
     "</pre></figure><p>after</p>"),
    ("```\nopen", '<figure class="code"><figcaption><span>text</span></figcaption><pre><code>open</code></pre></figure>'),
    ("| a | b |\n|---|--:|\n| 1 | `2` |\n| \\| |\n\nafter",
     '<div class="table"><table><thead><tr><th>a</th><th class="right">b</th></tr></thead><tbody><tr><td>1</td>'
     '<td class="right"><code>2</code></td></tr><tr><td>|</td><td class="right"></td></tr></tbody></table></div>'
     "<p>after</p>"),
    ("a\n\n---\n\nb", "<p>a</p><hr><p>b</p>"),
    ("<script>alert(1)</script>&lt;", "<p>&lt;script&gt;alert(1)&lt;/script&gt;&amp;lt;</p>"),
]


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
