#pragma once
// The style sheet of report.html. Private to the library.

#include <string_view>

namespace ak::report {

inline constexpr std::string_view kHtmlStyle = R"css(
:root{color-scheme:light dark;--bg:#fff;--soft:#f6f8fa;--line:#d9dee4;--text:#1f2328;--muted:#59636e;--accent:#0072b2;
--good:#007a59;--bad:#b84a00}
@media (prefers-color-scheme:dark){:root{--bg:#0d1117;--soft:#151b23;--line:#2b323b;--text:#e6edf3;--muted:#9aa4af;
--accent:#56b4e9;--good:#2fbf93;--bad:#e69f00}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"DejaVu Sans",sans-serif}
main{max-width:1080px;margin:0 auto;padding:32px 24px 64px}
h1{font-size:26px;margin:0 0 4px}h2{font-size:21px;margin:44px 0 4px}h3{font-size:16px;margin:30px 0 8px}
.muted{color:var(--muted)}
.headline{font-size:17px;margin:2px 0 16px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:12px;margin:0 0 20px}
.card{background:var(--soft);border:1px solid var(--line);border-radius:8px;padding:12px 16px}
.card b{display:block;font-size:23px;font-weight:600;line-height:1.3;font-variant-numeric:tabular-nums}
.card span{color:var(--muted);font-size:13px}
.card.good b{color:var(--good)}
figure{margin:0 0 16px;border:1px solid var(--line);border-radius:8px;overflow:hidden}
figure svg{display:block;width:100%;height:auto}
.scroll{overflow-x:auto}
table{border-collapse:collapse;min-width:55%;font-size:13.5px;font-variant-numeric:tabular-nums}
th,td{padding:6px 12px 6px 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{color:var(--muted);font-weight:600;white-space:nowrap}
.right{text-align:right}
.wide{min-width:220px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 20px;margin:0}dt{color:var(--muted)}dd{margin:0}
code,pre{font-family:ui-monospace,"SF Mono",Menlo,"DejaVu Sans Mono",monospace;font-size:12.5px}
pre{background:var(--soft);border:1px solid var(--line);border-radius:8px;padding:12px 16px;margin:6px 0;overflow-x:auto;
white-space:pre-wrap;overflow-wrap:anywhere;max-height:320px}
details{margin:8px 0}summary{cursor:pointer}
.kept,.start{color:var(--good);font-weight:600}.reverted,.ambiguous{color:var(--muted)}.failed{color:var(--bad)}
)css";

}  // namespace ak::report
