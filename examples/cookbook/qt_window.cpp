// SPDX-License-Identifier: MIT
#include <QtWidgets/QApplication>
#include <QtWidgets/QLabel>

#include <tryst/qt.hpp>
#include <tryst/tryst.hpp>

#include <iostream>
#include <thread>

using progress = tryst::channel<int>;

void compute(progress& to) {
    for (int percent = 0; percent <= 100; percent += 10) {
        auto sent = tryst::sync_wait(to.send(percent));
        if (!sent) {
            return; // the window is closed
        }
    }
    to.close();
}

tryst::task<> show(progress& from, QLabel& in) {
    while (auto percent = co_await from.receive()) {
        in.setText(QString("%1 %").arg(*percent));
    }
    in.close(); // the last window, so `exec` returns
}

int main(int argc, char** argv) {
    QApplication application(argc, argv);
    QLabel label("0 %");
    label.show();
    progress channel(4);
    tryst::qt::executor here;
    here.spawn(show(channel, label));
    std::jthread worker([&] { compute(channel); });
    const int status = QApplication::exec();
    channel.close();
    std::cout << "window: " << label.text().toStdString() << '\n';
    return status;
}
